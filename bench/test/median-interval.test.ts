import { expect, test } from "vitest";
import { medianInterval } from "../src/measure/median-interval.ts";

test("the interval of a median lies between two of the values, whatever the outliers are", () => {
	const values = Array.from({ length: 21 }, (_, index) => index);
	const interval = { median: 10, low: 6, high: 14 };
	expect(medianInterval(values)).toEqual(interval);
	expect(medianInterval([...values.slice(0, 20), 1e9])).toEqual(interval);
	expect(medianInterval([6, 5, 4, 3, 2, 1])).toEqual({
		...{ median: 3.5, low: 1, high: 6 },
	});
	expect(() => medianInterval([1, 2, 3, 4, 5])).toThrow("Six");
});
