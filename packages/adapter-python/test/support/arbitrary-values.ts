import fc from "fast-check";
import {
	type DType,
	NdArray,
	PlainDate,
	PlainDateTime,
	Tuple,
} from "../../src/index.ts";
import { DTYPES } from "../../src/values/nd-array.ts";

/** Text that UTF-8 can carry. */
const text = () => fc.string({ unit: "binary" });

/** Numbers and bigints as they come back: safe integers are numbers. */
const number = () =>
	fc.oneof(
		fc.integer(),
		fc.maxSafeInteger(),
		fc.double(),
		fc.bigInt().map((value) => {
			const safe = Number(value);
			return Number.isSafeInteger(safe) ? safe : value;
		}),
	);

const instant = () =>
	fc.date({
		min: new Date("0001-01-01T00:00:00Z"),
		max: new Date("9999-12-31T23:59:59.999Z"),
		noInvalidDate: true,
	});

const plainDate = () =>
	fc
		.tuple(
			fc.integer({ min: 1, max: 9999 }),
			fc.integer({ min: 1, max: 12 }),
			fc.integer({ min: 1, max: 28 }),
		)
		.map(([year, month, day]) => new PlainDate(year, month, day));

const plainDateTime = () =>
	fc
		.tuple(plainDate(), fc.nat(23), fc.nat(59), fc.nat(59), fc.nat(999_999))
		.map(
			([{ year, month, day }, ...time]) =>
				new PlainDateTime(year, month, day, ...time),
		);

/** Of three dimensions of three elements of 16 bytes. */
const MOST_BYTES = 3 ** 3 * 16;

const ndArray = () =>
	fc
		.tuple(
			fc.constantFrom(...(Object.keys(DTYPES) as DType[])),
			fc.array(fc.nat(3), { maxLength: 3 }),
			fc.uint8Array({ minLength: MOST_BYTES, maxLength: MOST_BYTES }),
		)
		.map(([dtype, shape, bytes]) => {
			const elements = shape.reduce((product, extent) => product * extent, 1);
			const data = bytes.slice(0, elements * DTYPES[dtype].size);
			// Other booleans than 0 and 1 are for nobody to keep.
			if (dtype === "bool")
				for (const [i, byte] of data.entries()) data[i] = byte & 1;
			return new NdArray(dtype, shape, data);
		});

/** Values that numbers, texts and the like are. */
const leaf = () =>
	fc.oneof(
		fc.constant(null),
		fc.boolean(),
		number(),
		text(),
		fc.uint8Array(),
		instant(),
		plainDate(),
		plainDateTime(),
		ndArray(),
	);

/** Keys that are one and the same only when they are equal in both languages: Python has 1 == 1.0 == True. */
const key = () => fc.oneof(text(), fc.integer(), plainDate());

const record = (value: fc.Arbitrary<unknown>) =>
	fc.dictionary(
		text().filter((name) => name !== "__proto__"),
		value,
		{ noNullPrototype: true },
	);

const otherMap = (value: fc.Arbitrary<unknown>) =>
	fc
		.uniqueArray(fc.tuple(key(), value), {
			selector: ([name]) => String(name),
			minLength: 1,
			maxLength: 5,
		})
		.filter((entries) => entries.some(([name]) => typeof name !== "string"))
		.map((entries) => new Map<unknown, unknown>(entries));

/** Any value that comes back as it was. */
export const anyValue = (): fc.Arbitrary<unknown> =>
	fc.letrec<{ value: unknown }>((tie) => ({
		value: fc.oneof(
			{ maxDepth: 4, withCrossShrink: true },
			leaf(),
			fc.array(tie("value"), { maxLength: 5 }),
			fc
				.array(tie("value"), { maxLength: 5 })
				.map((items) => Tuple.from(items)),
			fc
				.uniqueArray(fc.oneof(text(), fc.integer()), { maxLength: 5 })
				.map((items) => new Set(items)),
			record(tie("value")),
			otherMap(tie("value")),
		),
	})).value;

/** What JSON has, too. */
export const jsonValue = (): fc.Arbitrary<unknown> =>
	fc.letrec<{ value: unknown }>((tie) => ({
		value: fc.oneof(
			{ maxDepth: 4 },
			fc.constant(null),
			fc.boolean(),
			fc.integer(),
			fc.double().filter((value) => !Object.is(value, -0)),
			text(),
			fc.array(tie("value"), { maxLength: 5 }),
			record(tie("value")),
		),
	})).value;
