import fc from "fast-check";
import { expect, test } from "vitest";
import { SeededRandom } from "../../src/testing.ts";

test("the same seed gives the same numbers, another seed others", () => {
	const draw = (seed: number): readonly unknown[] => {
		const random = new SeededRandom(seed);
		return [
			random.fraction(),
			random.token(),
			random.below(1000),
			random.pick(["a", "b", "c"]),
		];
	};
	expect(draw(1)).toEqual(draw(1));
	expect(draw(1)).not.toEqual(draw(2));
});

test("fractions lie in [0, 1), tokens have 64 hexadecimal digits", () => {
	fc.assert(
		fc.property(fc.integer(), (seed) => {
			const random = new SeededRandom(seed);
			const fraction = random.fraction();
			expect(fraction).toBeGreaterThanOrEqual(0);
			expect(fraction).toBeLessThan(1);
			expect(random.token()).toMatch(/^[0-9a-f]{64}$/);
		}),
	);
});

test("numbers below 6 are spread evenly", () => {
	const random = new SeededRandom(7);
	const rolls = Array.from({ length: 60_000 }, () => random.below(6));
	const counts = [0, 1, 2, 3, 4, 5].map(
		(face) => rolls.filter((roll) => roll === face).length,
	);
	for (const count of counts)
		expect(Math.abs(count - 10_000)).toBeLessThan(500);
});

test("there must be something to pick from", () => {
	expect(() => new SeededRandom().pick([])).toThrow(RangeError);
});
