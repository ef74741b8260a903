import { brandAs } from "@snakepit/core/infrastructure";
import { daysInMonth, digits, wholeBetween } from "./calendar.ts";

const ISO = /^(\d{4})-(\d{2})-(\d{2})$/;

/** A day of the calendar, without time and zone: Python's `date`. Years 1 to 9999. */
export class PlainDate {
	static {
		brandAs(PlainDate, "value.PlainDate");
	}

	/** For the compiler alone: what merely has the same parts is no `PlainDate`. */
	declare protected readonly brand: "PlainDate";
	readonly year: number;
	/** From 1. */
	readonly month: number;
	readonly day: number;

	/** @throws RangeError when there is no such day. */
	constructor(year: number, month: number, day: number) {
		this.year = wholeBetween("year", year, 1, 9999);
		this.month = wholeBetween("month", month, 1, 12);
		this.day = wholeBetween("day", day, 1, daysInMonth(year, month));
	}

	/**
	 * Reads `YYYY-MM-DD`.
	 *
	 * @throws RangeError when the text is not one, or there is no such day.
	 */
	static from(text: string): PlainDate {
		const [, year, month, day] = ISO.exec(text) ?? [];
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
