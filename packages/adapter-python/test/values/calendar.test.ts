import fc from "fast-check";
import { expect, test } from "vitest";
import {
	dateTimeAfter,
	dayAfter,
	daysTo,
	secondsOf,
} from "../../src/values/dates.ts";

const FIRST_DAY = -719_162;
const LAST_DAY = 2_932_896;
const DAY_MS = 86_400_000;

function ofDate(days: number): ReturnType<typeof dayAfter> {
	const date = new Date(days * DAY_MS);
	return {
		year: date.getUTCFullYear(),
		month: date.getUTCMonth() + 1,
		day: date.getUTCDate(),
	};
}

test("every day of 400 years is the one that Date knows", () => {
	const wrong: number[] = [];
	for (let days = FIRST_DAY; days < FIRST_DAY + 146_098; days++) {
		const { year, month, day } = dayAfter(days);
		const date = ofDate(days);
		if (
			year !== date.year ||
			month !== date.month ||
			day !== date.day ||
			daysTo(date) !== days
		)
			wrong.push(days);
	}
	expect(wrong).toEqual([]);
});

test("so is any day from the year 1 to 9999", () => {
	const days = fc.integer({ min: FIRST_DAY, max: LAST_DAY });
	fc.assert(
		fc.property(days, (days) => {
			expect(dayAfter(days)).toEqual(ofDate(days));
			expect(daysTo(ofDate(days))).toBe(days);
		}),
		{ examples: [[FIRST_DAY], [LAST_DAY], [-1], [0]] },
	);
});

test("the first and the last second have a date and time, those beside them have none", () => {
	const first = FIRST_DAY * 86_400;
	const last = (LAST_DAY + 1) * 86_400 - 1;
	expect(String(dateTimeAfter(first, 0))).toBe("0001-01-01T00:00:00");
	expect(String(dateTimeAfter(last, 1))).toBe("9999-12-31T23:59:59.000001");
	expect(secondsOf(dateTimeAfter(first, 0))).toBe(first);
	expect(secondsOf(dateTimeAfter(last, 0))).toBe(last);
	for (const seconds of [first - 1, last + 1, 2 ** 62, Number.NaN])
		expect(() => dateTimeAfter(seconds, 0)).toThrow(RangeError);
});
