import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import {
	Float,
	NdArray,
	PlainDate,
	PlainDateTime,
	Tuple,
} from "../../../adapter-grpc-python/src/index.ts";
import { anyValue } from "../support/arbitrary-values.ts";
import { sharedBench } from "../support/bench.ts";
import { call, failureOf } from "../support/calls.ts";
import { toolsFile } from "../support/pythons.ts";
import { typescriptValue, VECTORS } from "../support/value-vectors.ts";

const worker = sharedBench({ tools: toolsFile("values.py") });
const LONG = { timeout: 120_000 };

test("every value goes to Python and comes back as it was", LONG, async () => {
	const { connection } = await worker();
	await fc.assert(
		fc.asyncProperty(anyValue(), async (value) => {
			expect(await call(connection, "echo", { value })).toStrictEqual(value);
		}),
		{ numRuns: rounds(300, 100) },
	);
});

test("what Python makes arrives as the table of vectors says", async () => {
	const { connection } = await worker();
	for (const vector of VECTORS) {
		if (vector.refused) continue;
		const value = await call(connection, "evaluated", [vector.python]);
		expect(value, vector.name).toStrictEqual(typescriptValue(vector));
	}
});

test("what TypeScript sends is in Python what the document says", async () => {
	const { connection } = await worker();
	const table: readonly [unknown, string][] = [
		[1, "int 1"],
		[1.0, "int 1"],
		[new Float(1), "float 1.0"],
		[-0, "float -0.0"],
		[1.5, "float 1.5"],
		[Number.NaN, "float nan"],
		[2 ** 53, "float 9007199254740992.0"],
		[5n, "int 5"],
		[2n ** 70n, `int ${2n ** 70n}`],
		[new Map([["a", 1]]), "dict {'a': 1}"],
		[new Map([[1, "a"]]), "dict {1: 'a'}"],
		[{ a: 1, b: undefined }, "dict {'a': 1}"],
		[Buffer.from("ab"), "bytes b'ab'"],
		[new Uint8Array([97]).buffer, "bytes b'a'"],
		[Tuple.of(1, "a"), "tuple (1, 'a')"],
		[new Set([1]), "set {1}"],
		[new Int16Array([1, 2]), "ndarray array([1, 2], dtype=int16)"],
		[new BigUint64Array([1n]), "ndarray array([1], dtype=uint64)"],
		[new Float64Array([1, 2]), "ndarray array([1., 2.])"],
		[
			new NdArray("float32", [1, 2], new Float32Array([1, 2])),
			"ndarray array([[1., 2.]], dtype=float32)",
		],
		[
			new NdArray("int8", [], new Int8Array([7])),
			"ndarray array(7, dtype=int8)",
		],
		[
			new Date("2024-02-29T12:30:15.123Z"),
			"datetime datetime.datetime(2024, 2, 29, 12, 30, 15, 123000, tzinfo=datetime.timezone.utc)",
		],
		[new PlainDate(2024, 2, 29), "date datetime.date(2024, 2, 29)"],
		[
			new PlainDateTime(2024, 2, 29, 12, 30, 15, 7),
			"datetime datetime.datetime(2024, 2, 29, 12, 30, 15, 7)",
		],
	];
	for (const [value, seen] of table)
		expect(await call(connection, "seen", { value })).toBe(seen);
});

test("what Python sends is in TypeScript what the document says", async () => {
	const { connection } = await worker();
	const table: readonly [string, unknown][] = [
		["bytearray(b'a')", new Uint8Array([97])],
		["memoryview(b'a')", new Uint8Array([97])],
		["frozenset({1})", new Set([1])],
		["numpy.int32(5)", 5],
		["numpy.float32(0.5)", 0.5],
		["numpy.bool_(True)", true],
		["{'a': 1}", { a: 1 }],
		[
			"numpy.asfortranarray([[1, 2], [3, 4]], dtype='int16')",
			new NdArray("int16", [2, 2], new Int16Array([1, 2, 3, 4])),
		],
		[
			"numpy.array([1, 2], dtype='>i4')",
			new NdArray("int32", [2], new Int32Array([1, 2])),
		],
		[
			"numpy.arange(6, dtype='float32').reshape(2, 3)[:, ::2]",
			new NdArray("float32", [2, 2], new Float32Array([0, 2, 3, 5])),
		],
		[
			"datetime(2024, 1, 1, 2, 0, 0, 999, timezone(timedelta(hours=2)))",
			new Date("2024-01-01T00:00:00.000Z"),
		],
	];
	for (const [expression, value] of table)
		expect(
			await call(connection, "evaluated", [expression]),
			expression,
		).toStrictEqual(value);
});

test.each([
	["evaluated", ["{'a': [1, NdArray]}"], "$.a[1]"],
	["evaluated", ["numpy.array(['a'], dtype=object)"], "$"],
])(
	"what Python cannot send is named by its path: %s %j",
	async (command, args, path) => {
		const { connection } = await worker();
		expect(await failureOf(call(connection, command, args))).toMatchObject({
			code: "VALUE_NOT_TRANSFERABLE",
			ran: "maybe",
			path,
		});
	},
);

test("what Python cannot hold is named by its path", async () => {
	const { connection } = await worker();
	const error = await failureOf(
		call(connection, "echo", { value: [new Map([[[1], 1]])] }),
	);
	expect(error).toMatchObject({
		code: "VALUE_NOT_TRANSFERABLE",
		ran: "no",
		path: "$.value[0]<key 0>",
	});
});

test("a large array goes there and back without a copy by hand", async () => {
	const { connection } = await worker();
	const data = Float64Array.from({ length: 2_000_000 }, (_, i) => i / 3);
	const back = await call(connection, "echo", {
		value: NdArray.from(data, [1000, 2000]),
	});
	expect(back).toBeInstanceOf(NdArray);
	expect((back as NdArray).shape).toEqual([1000, 2000]);
	expect(
		Buffer.compare(
			Buffer.from((back as NdArray).bytes()),
			Buffer.from(data.buffer),
		),
	).toBe(0);
});
