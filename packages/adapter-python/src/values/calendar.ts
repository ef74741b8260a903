/** A day of the proleptic Gregorian calendar; months and days count from 1. */
interface Day {
	readonly year: number;
	readonly month: number;
	readonly day: number;
}

// If a year begins with March, its leap day is at the end, and one formula gives the days before a month. `Date` takes
// twice as long, and lists may contain many dates.
const DAYS_OF_400_YEARS = 146_097;
/** From 0000-03-01 to 1970-01-01. */
const DAYS_TO_1970 = 719_468;

/** The day that is the given number of days after 1970-01-01, from the year 1 to 9999. */
export function dayAfter(days: number): Day {
	const sinceMarch = days + DAYS_TO_1970;
	const centuries4 = whole(sinceMarch / DAYS_OF_400_YEARS);
	const rest = sinceMarch - centuries4 * DAYS_OF_400_YEARS;
	const leapDays =
		whole(rest / 1460) - whole(rest / 36_524) + whole(rest / 146_096);
	const yearOf400 = whole((rest - leapDays) / 365);
	const dayOfYear = rest - daysBeforeYear(yearOf400);
	const months = whole((5 * dayOfYear + 2) / 153);
	const month = months < 10 ? months + 3 : months - 9;
	return {
		year: centuries4 * 400 + yearOf400 + (month <= 2 ? 1 : 0),
		month,
		day: dayOfYear - daysBeforeMonth(months) + 1,
	};
}

/** The days from 1970-01-01 to a day of the years 1 to 9999. */
export function daysTo({ year, month, day }: Day): number {
	const marchYear = month <= 2 ? year - 1 : year;
	const months = month <= 2 ? month + 9 : month - 3;
	const before = daysBeforeYear(marchYear) + daysBeforeMonth(months);
	return before + day - 1 - DAYS_TO_1970;
}

const daysBeforeYear = (year: number): number =>
	365 * year + whole(year / 4) - whole(year / 100) + whole(year / 400);

/** @param months from March on. */
const daysBeforeMonth = (months: number): number =>
	whole((153 * months + 2) / 5);

/** Without the fraction; for numbers from 0 to 2³¹. */
function whole(value: number): number {
	return value | 0;
}
