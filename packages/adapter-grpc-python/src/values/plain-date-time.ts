import { brandAs } from "@snakepit/core/infrastructure";
import { digits, wholeBetween } from "./calendar.ts";
import { PlainDate } from "./plain-date.ts";

const ISO = /^(\d{4}-\d{2}-\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?$/;

/** A date and a time of day without zone: Python's naive `datetime`. Microseconds are kept. */
export class PlainDateTime {
	static {
		brandAs(PlainDateTime, "value.PlainDateTime");
	}

	/** For the compiler alone: what merely has the same parts is no `PlainDateTime`. */
	declare protected readonly brand: "PlainDateTime";
	readonly year: number;
	/** From 1. */
	readonly month: number;
	readonly day: number;
	readonly hour: number;
	readonly minute: number;
	readonly second: number;
	readonly microsecond: number;

	/** @throws RangeError when there is no such moment. */
	constructor(
		year: number,
		month: number,
		day: number,
		hour = 0,
		minute = 0,
		second = 0,
		microsecond = 0,
	) {
		const date = new PlainDate(year, month, day);
		this.year = date.year;
		this.month = date.month;
		this.day = date.day;
		this.hour = wholeBetween("hour", hour, 0, 23);
		this.minute = wholeBetween("minute", minute, 0, 59);
		this.second = wholeBetween("second", second, 0, 59);
		this.microsecond = wholeBetween("microsecond", microsecond, 0, 999_999);
	}

	/**
	 * Reads `YYYY-MM-DDTHH:MM:SS`, with up to six digits of a second.
	 *
	 * @throws RangeError when the text is not one, or there is no such moment.
	 */
	static from(text: string): PlainDateTime {
		const [, day, hour, minute, second, fraction = ""] = ISO.exec(text) ?? [];
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

	/** As Python's `isoformat`: microseconds only where there are some. */
	toString(): string {
		const date = `${digits(this.year, 4)}-${digits(this.month, 2)}-${digits(this.day, 2)}`;
		const time = `${digits(this.hour, 2)}:${digits(this.minute, 2)}:${digits(this.second, 2)}`;
		return `${date}T${time}${this.microsecond === 0 ? "" : `.${digits(this.microsecond, 6)}`}`;
	}

	toJSON(): string {
		return this.toString();
	}
}
