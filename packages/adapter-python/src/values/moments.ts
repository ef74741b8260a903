import { EXTENSION } from "./extension-types.ts";
import type { ImageReader } from "./image-reader.ts";
import type { ImageWriter } from "./image-writer.ts";
import { dateTimeAfter, PlainDateTime, secondsOf } from "./plain-date.ts";

/** Reads an instant from a timestamp of so many bytes; rounded down to milliseconds. */
export function readInstant(reader: ImageReader, size: number): Date {
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
export function readDateTime(reader: ImageReader, size: number): PlainDateTime {
	if (size !== 8) reader.fail(`a date and time of ${size} bytes, not 8`);
	const us = reader.signedLong();
	const microsecond = ((us % 1_000_000n) + 1_000_000n) % 1_000_000n;
	const seconds = Number((us - microsecond) / 1_000_000n);
	return dateTimeAfter(seconds, Number(microsecond));
}

/** Reads a list of the given number of date-times, which are written as the timestamps that they would be in UTC. */
export function readDateTimes(
	reader: ImageReader,
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
	writer: ImageWriter,
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
	writer: ImageWriter,
	items: readonly PlainDateTime[],
): void {
	writer.extension(EXTENSION.dateTimes, items.length * 10, () => {
		writer.arrayHeader(items.length);
		for (const item of items)
			writer.timestamp(secondsOf(item), item.microsecond * 1000);
	});
}
