import { readFileSync } from "node:fs";
import { NdArray, PlainDate, PlainDateTime, Tuple } from "../../src/index.ts";

/** A line of proto/testdata/values.json, which both languages are tested against. */
export interface Vector {
	readonly name: string;
	readonly description: string;
	/** Absent where no side may read the bytes. */
	readonly python?: string;
	readonly wire_hex: string;
	readonly read_only?: boolean;
	readonly refused?: boolean;
}

export const VECTORS: readonly Vector[] = JSON.parse(
	readFileSync(
		new URL("../../../../proto/testdata/values.json", import.meta.url),
		"utf8",
	),
);

const array = (dtype: string, shape: readonly number[], hex: string) =>
	new NdArray(dtype as "int8", shape, new Uint8Array(Buffer.from(hex, "hex")));

const nested = (levels: number): unknown =>
	levels === 0 ? undefined : levels === 1 ? [] : [nested(levels - 1)];

/** What TypeScript has for a vector that is no integer. */
const VALUES: Readonly<Record<string, unknown>> = {
	null: null,
	true: true,
	false: false,
	"float 1.0": 1,
	"float 0.1": 0.1,
	"negative zero": -0,
	NaN: Number.NaN,
	infinity: Number.POSITIVE_INFINITY,
	"negative infinity": Number.NEGATIVE_INFINITY,
	"smallest float": 5e-324,
	"empty text": "",
	"text of 31 bytes": "x".repeat(31),
	"text of 32 bytes": "x".repeat(32),
	"text of 256 bytes": "x".repeat(256),
	"text in UTF-8": "größer 日本 \u{1f40d}",
	"text with a zero": "a\0b",
	"empty bytes": new Uint8Array(),
	bytes: new Uint8Array([0, 1, 0xfe, 0xff]),
	"empty list": [],
	list: [1, "two", null, [3.5]],
	"list of 16": Array.from({ length: 16 }, (_, i) => i),
	"empty map": {},
	map: { b: 1, a: { c: [true] } },
	"empty key": { "": 1 },
	"map of numbers": new Map([
		[1, "one"],
		[-2, "minus two"],
	]),
	"map of mixed keys": new Map<unknown, number>([
		[null, 0],
		[true, 1],
		["a", 2],
		[1.5, 3],
	]),
	"map of tuples": new Map([[Tuple.of(1, 2), "a"]]),
	["__proto__"]: new Map([["__proto__", 1]]),
	instant: new Date("2024-02-29T12:30:15.123Z"),
	"instant of whole ms": new Date("2024-01-01T00:00:00.005Z"),
	epoch: new Date(0),
	"instant before the epoch": new Date(-1),
	"first instant": new Date("0001-01-01T00:00:00.000Z"),
	"last instant": new Date("9999-12-31T23:59:59.999Z"),
	date: new PlainDate(2024, 2, 29),
	"first date": new PlainDate(1, 1, 1),
	"date and time": new PlainDateTime(2024, 2, 29, 12, 30, 15),
	"date and time with microseconds": PlainDateTime.from(
		"2024-02-29T12:30:15.00012",
	),
	"first date and time": new PlainDateTime(1, 1, 1),
	"dates and times": [
		new PlainDateTime(1, 1, 1),
		PlainDateTime.from("2024-02-29T12:30:15.00012"),
		PlainDateTime.from("9999-12-31T23:59:59.999999"),
	],
	"empty tuple": Tuple.of(),
	tuple: Tuple.of(1, "a", Tuple.of(2.5)),
	"empty set": new Set(),
	set: new Set(["a"]),
	"array of bool": array("bool", [2], "0100"),
	"array of int8": array("int8", [2], "807f"),
	"array of int16": array("int16", [1], "0102"),
	"array of int32": array("int32", [1], "01020304"),
	"array of int64": array("int64", [1], "0001020304050607"),
	"array of uint8": array("uint8", [3], "0001ff"),
	"array of uint16": array("uint16", [1], "0102"),
	"array of uint32": array("uint32", [1], "01020304"),
	"array of uint64": array("uint64", [1], "0001020304050607"),
	"array of float16": array("float16", [1], "003c"),
	"array of float32": array("float32", [1], "0000803f"),
	"array of float64": array(
		"float64",
		[2, 1],
		"000000000000f03f0000000000000040",
	),
	"array of complex64": array("complex64", [1], "0000803f00000040"),
	"array of complex128": array(
		"complex128",
		[1],
		"000000000000f03f0000000000000040",
	),
	"array of no dimension": array("int8", [], "07"),
	"empty array": array("float32", [0, 3], ""),
	"everything nested": {
		a: [Tuple.of(new Map([[1, new Set(["b"])]]))],
	},
	"100 levels": nested(100),
	"float 32": 1.5,
};

/** What a vector's bytes are in TypeScript. */
export function typescriptValue({ name, python = "" }: Vector): unknown {
	if (Object.hasOwn(VALUES, name)) return VALUES[name];
	if (!/^-?\d+$/.test(python))
		throw new Error(`no value of TypeScript for the vector "${name}"`);
	const integer = BigInt(python);
	return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
}

/** Vectors that lose something on their way into TypeScript, as docs/values.md says. */
export const LOSSY: ReadonlySet<string> = new Set([
	"float 1.0",
	"instant",
	"instant before the epoch",
	"last instant",
]);
