import { brandAs } from "@snakepit/core/adapter";
import { EXTENSION } from "./extensions.ts";
import type { MessagePackReader } from "./message-pack-reader.ts";
import type { MessagePackWriter } from "./message-pack-writer.ts";

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

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME =
	/^(\d{4}-\d{2}-\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?$/;

/** A calendar day, without time and zone: Python's `date`. Years 1 to 9999. */
export class PlainDate {
	static {
		brandAs(PlainDate, "value.PlainDate");
	}

	/** For the compiler only: an object that merely has the same properties is not a `PlainDate`. */
	declare protected readonly brand: "PlainDate";
	readonly year: number;
	/** From 1. */
	readonly month: number;
	readonly day: number;

	/** @throws RangeError when the day does not exist. */
	constructor(year: number, month: number, day: number) {
		checkDay(year, month, day);
		this.year = year;
		this.month = month;
		this.day = day;
	}

	/**
	 * Reads `YYYY-MM-DD`.
	 *
	 * @throws RangeError when the text has another form, or the day does not exist.
	 */
	static from(text: string): PlainDate {
		const [, year, month, day] = DATE.exec(text) ?? [];
		if (day === undefined)
			throw new RangeError(`not a date as YYYY-MM-DD: ${JSON.stringify(text)}`);
		return new PlainDate(Number(year), Number(month), Number(day));
	}

	toString(): string {
		return `${digits(this.year, 4)}-${digits(this.month, 2)}-${digits(this.day, 2)}`;
	}

	toJSON(): string {
		return this.toString();
	}
}

/** A date and time without zone: Python's naive `datetime`. Microseconds are kept. */
export class PlainDateTime {
	static {
		brandAs(PlainDateTime, "value.PlainDateTime");
	}

	/** For the compiler only; see `PlainDate`. */
	declare protected readonly brand: "PlainDateTime";
	readonly year: number;
	/** From 1. */
	readonly month: number;
	readonly day: number;
	readonly hour: number;
	readonly minute: number;
	readonly second: number;
	readonly microsecond: number;

	/** @throws RangeError when the moment does not exist. */
	constructor(
		year: number,
		month: number,
		day: number,
		hour = 0,
		minute = 0,
		second = 0,
		microsecond = 0,
	) {
		checkDay(year, month, day);
		this.year = year;
		this.month = month;
		this.day = day;
		this.hour = wholeBetween("hour", hour, 0, 23);
		this.minute = wholeBetween("minute", minute, 0, 59);
		this.second = wholeBetween("second", second, 0, 59);
		this.microsecond = wholeBetween("microsecond", microsecond, 0, 999_999);
	}

	/**
	 * Reads `YYYY-MM-DDTHH:MM:SS`, optionally with up to six digits of a second.
	 *
	 * @throws RangeError when the text has another form, or the moment does not exist.
	 */
	static from(text: string): PlainDateTime {
		const [, day, hour, minute, second, fraction = ""] =
			DATE_TIME.exec(text) ?? [];
		if (day === undefined) {
			throw new RangeError(
				`not a date and time as YYYY-MM-DDTHH:MM:SS.ffffff: ${JSON.stringify(text)}`,
			);
		}
		const date = PlainDate.from(day);
		const microsecond = Number(fraction.padEnd(6, "0"));
		return new PlainDateTime(
			date.year,
			date.month,
			date.day,
			Number(hour),
			Number(minute),
			Number(second),
			microsecond,
		);
	}

	/** Like Python's `isoformat`: with microseconds only if there are some. */
	toString(): string {
		const date = `${digits(this.year, 4)}-${digits(this.month, 2)}-${digits(this.day, 2)}`;
		const time = `${digits(this.hour, 2)}:${digits(this.minute, 2)}:${digits(this.second, 2)}`;
		return `${date}T${time}${this.microsecond === 0 ? "" : `.${digits(this.microsecond, 6)}`}`;
	}

	toJSON(): string {
		return this.toString();
	}
}

/** The seconds from 1970-01-01T00:00:00 to a date and time. */
export function secondsOf(value: PlainDateTime): number {
	const { hour, minute, second } = value;
	return daysTo(value) * SECONDS_OF_DAY + hour * 3600 + minute * 60 + second;
}

/**
 * The date and time that is the given seconds and microseconds after 1970-01-01T00:00:00.
 *
 * @throws RangeError when it is outside the years 1 to 9999.
 */
export function dateTimeAfter(
	seconds: number,
	microsecond: number,
): PlainDateTime {
	if (!(seconds >= FIRST_SECOND && seconds < AFTER_LAST_SECOND))
		throw new RangeError(
			`${seconds} seconds after 1970-01-01 is outside the years 1 to 9999`,
		);
	const days = Math.floor(seconds / SECONDS_OF_DAY);
	const { year, month, day } = dayAfter(days);
	const ofDay = seconds - days * SECONDS_OF_DAY;
	const hour = Math.floor(ofDay / 3600);
	const minute = Math.floor(ofDay / 60) % 60;
	const second = ofDay % 60;
	return new PlainDateTime(year, month, day, hour, minute, second, microsecond);
}

const SECONDS_OF_DAY = 86_400;
const FIRST_SECOND = daysTo({ year: 1, month: 1, day: 1 }) * SECONDS_OF_DAY;
const AFTER_LAST_SECOND =
	daysTo({ year: 10_000, month: 1, day: 1 }) * SECONDS_OF_DAY;

/** @throws RangeError when the day does not exist. */
function checkDay(year: number, month: number, day: number): void {
	wholeBetween("year", year, 1, 9999);
	wholeBetween("month", month, 1, 12);
	wholeBetween("day", day, 1, daysInMonth(year, month));
}

/** Days of a month of the proleptic Gregorian calendar; months count from 1. */
function daysInMonth(year: number, month: number): number {
	if (month === 2)
		return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
	return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** @throws RangeError when `value` is not a whole number from `least` to `most`. */
function wholeBetween(
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
function digits(value: number, width: number): string {
	return String(value).padStart(width, "0");
}

/** Reads an instant from a timestamp of so many bytes; rounded down to milliseconds. */
export function readInstant(reader: MessagePackReader, size: number): Date {
	const seconds = reader.timestamp(size);
	const date = new Date(
		seconds * 1000 + Math.floor(reader.nanoseconds / 1_000_000),
	);
	if (Number.isNaN(date.getTime()))
		reader.fail(
			`an instant outside the range of Date: ${seconds} seconds since 1970`,
		);
	return date;
}

/** Reads a date and time without zone: the microseconds from 1970-01-01T00:00:00. */
export function readDateTime(
	reader: MessagePackReader,
	size: number,
): PlainDateTime {
	if (size !== 8) reader.fail(`a date and time of ${size} bytes, not 8`);
	const us = reader.signedLong();
	const microsecond = ((us % 1_000_000n) + 1_000_000n) % 1_000_000n;
	const seconds = Number((us - microsecond) / 1_000_000n);
	return dateTimeAfter(seconds, Number(microsecond));
}

/** Reads a list of the given number of date-times, which are written as the timestamps that they would be in UTC. */
export function readDateTimes(
	reader: MessagePackReader,
	count: number,
): PlainDateTime[] {
	reader.claim(count);
	const values: PlainDateTime[] = [];
	for (let i = 0; i < count; i++) {
		const format = reader.byte();
		const size = format === 0xd6 ? 4 : format === 0xd7 ? 8 : 12;
		if (size === 12 && (format !== 0xc7 || reader.byte() !== 12))
			reader.fail("a list of dates and times with another value in it");
		if (reader.byte() !== EXTENSION.instant)
			reader.fail("a list of dates and times with another extension in it");
		const seconds = reader.timestamp(size);
		const microsecond = Math.floor(reader.nanoseconds / 1000);
		values.push(dateTimeAfter(seconds, microsecond));
	}
	return values;
}

export function encodeDateTime(
	writer: MessagePackWriter,
	value: PlainDateTime,
): void {
	const bytes = Buffer.allocUnsafe(8);
	const us = BigInt(secondsOf(value)) * 1_000_000n + BigInt(value.microsecond);
	bytes.writeBigInt64BE(us);
	writer.extension(EXTENSION.dateTime, bytes.length, () => writer.raw(bytes));
}

/** Whether all items are dates with a time of this copy of the package; false if there are none. */
export function areDateTimes(
	items: readonly unknown[],
): items is readonly PlainDateTime[] {
	if (items.length === 0) return false;
	for (const item of items)
		if (
			typeof item !== "object" ||
			item === null ||
			Object.getPrototypeOf(item) !== PlainDateTime.prototype
		)
			return false;
	return true;
}

/** Writes a list of them, as Python writes and reads it fastest. */
export function encodeDateTimes(
	writer: MessagePackWriter,
	items: readonly PlainDateTime[],
): void {
	writer.extension(EXTENSION.dateTimes, items.length * 10, () => {
		writer.arrayHeader(items.length);
		for (const item of items)
			writer.timestamp(secondsOf(item), item.microsecond * 1000);
	});
}
