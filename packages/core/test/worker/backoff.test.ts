import fc from "fast-check";
import { expect, test } from "vitest";
import { backoffMs } from "../../src/worker/restarts.ts";

const pauses = fc.record({
	failures: fc.nat(200),
	firstMs: fc.nat(10_000),
	maxMs: fc.nat(100_000),
	fraction: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

test("the first restart is immediate", () => {
	fc.assert(
		fc.property(pauses, ({ firstMs, maxMs, fraction }) => {
			expect(backoffMs(0, firstMs, maxMs, fraction)).toBe(0);
			expect(backoffMs(1, firstMs, maxMs, fraction)).toBe(0);
		}),
	);
});

test("the pauses double up to their limit", () => {
	const full = [1, 2, 3, 4, 5, 6, 1_000].map((failures) =>
		backoffMs(failures, 200, 1_000, 1),
	);
	expect(full).toEqual([0, 200, 400, 800, 1_000, 1_000, 1_000]);
});

test("chance takes away up to half of a pause, never more, and adds nothing", () => {
	fc.assert(
		fc.property(pauses, ({ failures, firstMs, maxMs, fraction }) => {
			const full = backoffMs(failures, firstMs, maxMs, 1);
			const pause = backoffMs(failures, firstMs, maxMs, fraction);
			expect(pause).toBeLessThanOrEqual(full);
			expect(pause).toBeGreaterThanOrEqual(Math.floor(full / 2));
		}),
	);
});

test("a pause is a whole number of milliseconds, at most the limit, and never shorter after one more failure", () => {
	fc.assert(
		fc.property(pauses, ({ failures, firstMs, maxMs, fraction }) => {
			const pause = backoffMs(failures, firstMs, maxMs, fraction);
			expect(Number.isInteger(pause)).toBe(true);
			expect(pause).toBeLessThanOrEqual(maxMs);
			expect(
				backoffMs(failures + 1, firstMs, maxMs, fraction),
			).toBeGreaterThanOrEqual(pause);
		}),
	);
});

test("workers that failed together do not return together", () => {
	const returns = [0, 0.25, 0.5, 0.75].map((fraction) =>
		backoffMs(3, 1_000, 60_000, fraction),
	);
	expect(new Set(returns).size).toBe(returns.length);
});
