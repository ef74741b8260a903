import { expect, test } from "vitest";
import { count, counted, duration, percent } from "../src/figures.ts";

test("counts are grouped, and their noun fits", () => {
	expect(count(1_797)).toBe("1,797");
	expect(count(1_234.6)).toBe("1,235");
	expect(counted(1, "process", "processes")).toBe("1 process");
	expect(counted(0, "process", "processes")).toBe("0 processes");
	expect(counted(2, "call")).toBe("2 calls");
});

test("a share is never rounded up to all", () => {
	expect(percent(1_796, 1_797)).toBe("99.9 %");
	expect(percent(1_748, 1_797)).toBe("97.3 %");
	expect(percent(1_797, 1_797)).toBe("100.0 %");
	expect(percent(0, 0)).toBe("- %");
});

test("durations have two or three digits at each size", () => {
	expect(duration(0.42)).toBe("0.4 ms");
	expect(duration(9.96)).toBe("10 ms");
	expect(duration(999.4)).toBe("999 ms");
	expect(duration(999.6)).toBe("1.0 s");
	expect(duration(61_000)).toBe("61.0 s");
});
