import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Random } from "../../src/contract/clock.ts";
import {
	generatedAt,
	generateRunId,
	isRunId,
} from "../../src/contract/identity.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";

const chance = (fraction: number): Random => ({
	fraction: () => fraction,
	token: () => "",
});
const wallMs = fc.integer({ min: 0, max: 8_640_000_000_000_000 });
const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** After so many milliseconds the time part begins anew. */
const CYCLE_MS = 36 ** 5 * 1000;

describe("generating", () => {
	test("a run id always has seven lower-case base-36 characters", () => {
		fc.assert(
			fc.property(wallMs, fraction, (time, drawn) => {
				const id = generateRunId(time, chance(drawn));
				expect(id).toMatch(/^[0-9a-z]{7}$/);
				expect(isRunId(id)).toBe(true);
			}),
		);
	});

	test("the ends of both ranges are padded and do not overflow", () => {
		const most = 1 - Number.EPSILON;
		expect(generateRunId(0, chance(0))).toBe("0000000");
		expect(generateRunId(CYCLE_MS - 1, chance(most))).toBe("zzzzzzz");
		expect(generateRunId(CYCLE_MS, chance(most))).toBe("00000zz");
	});

	test("the first five characters are the time in seconds, repeating after 36⁵ seconds", () => {
		fc.assert(
			fc.property(wallMs, fraction, (time, drawn) => {
				const id = generateRunId(time, chance(drawn));
				expect(Number.parseInt(id.slice(0, 5), 36)).toBe(
					Math.floor(time / 1000) % 36 ** 5,
				);
				if (time <= 8_640_000_000_000_000 - CYCLE_MS)
					expect(generateRunId(time + CYCLE_MS, chance(drawn))).toBe(id);
			}),
		);
	});

	test("the last two characters are chance, and reach each of their 1,296 values", () => {
		const reached = new Set(
			Array.from({ length: 1296 }, (_, value) =>
				generateRunId(0, chance((value + 0.5) / 1296)).slice(5),
			),
		);
		expect(reached.size).toBe(1296);
	});

	test("run ids of one cycle sort by time", () => {
		const second = fc.integer({ min: 0, max: 36 ** 5 - 2 });
		fc.assert(
			fc.property(second, fraction, fraction, (seconds, one, other) => {
				const [earlier, later] = [
					generateRunId(seconds * 1000, chance(one)),
					generateRunId((seconds + 1) * 1000, chance(other)),
				];
				expect(earlier < later).toBe(true);
			}),
		);
	});

	test("the same time and seed give the same run id", () => {
		expect(generateRunId(1e12, new SeededRandom(5))).toBe(
			generateRunId(1e12, new SeededRandom(5)),
		);
	});
});

describe("validating", () => {
	test.each([
		"",
		"k3x9a2",
		"k3x9a2pp",
		"K3X9A2P",
		"k3x9a2-",
		" k3x9a2p",
		"k3x9a2p\n",
		"kéx9a2p",
	])("%j is no run id", (text) => {
		expect(isRunId(text)).toBe(false);
	});
});

test("a run id contains when it was drawn, to the second, also across the cycle and for a clock that was ahead", () => {
	const random = { fraction: () => 0.5, token: () => "" };
	const CYCLE_MS = 36 ** 5 * 1000;
	for (const drawn of [1_700_000_000_000, CYCLE_MS * 29 - 1000, CYCLE_MS * 29])
		for (const laterMs of [0, 1000, 86_400_000, CYCLE_MS - 86_401_000])
			expect(generatedAt(generateRunId(drawn, random), drawn + laterMs)).toBe(
				Math.floor(drawn / 1000) * 1000,
			);
	const ahead = generateRunId(1_700_000_060_000, random);
	expect(generatedAt(ahead, 1_700_000_000_000)).toBe(1_700_000_000_000);
});
