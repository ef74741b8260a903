/** Days of a month of the proleptic Gregorian calendar; months count from 1. */
export function daysInMonth(year: number, month: number): number {
	if (month === 2)
		return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
	return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** @throws RangeError when `value` is not a whole number from `least` to `most`. */
export function wholeBetween(
	field: string,
	value: number,
	least: number,
	most: number,
): number {
	if (Number.isInteger(value) && value >= least && value <= most) return value;
	throw new RangeError(
		`${field} must be a whole number from ${least} to ${most}, got ${value}`,
	);
}

/** Writes a number with leading zeros. */
export function digits(value: number, width: number): string {
	return String(value).padStart(width, "0");
}
