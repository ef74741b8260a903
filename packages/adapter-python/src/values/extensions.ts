/** The extension types of the encoded value (docs/values.md). */
export const EXTENSION = {
	/** -1, MessagePack's own timestamp. */
	instant: 0xff,
	bigInteger: 1,
	table: 2,
	date: 3,
	dateTime: 4,
	map: 5,
	tuple: 6,
	set: 7,
	ndArray: 8,
	attached: 9,
	dateTimes: 10,
	/** Far from the others: it is not a value, but refers to an object. */
	handle: 32,
} as const;

/** The deepest nesting of containers; a deeper value is a mistake or an attack. */
export const MAX_DEPTH = 100;

/** The instants that Python's `datetime` has: years 1 to 9999, in milliseconds since the Unix epoch. */
export const FIRST_INSTANT_MS = -62_135_596_800_000;
export const LAST_INSTANT_MS = 253_402_300_799_999;
