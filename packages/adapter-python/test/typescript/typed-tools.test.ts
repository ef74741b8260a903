import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, expectTypeOf, test } from "vitest";
import { isThorough } from "../../../../scripts/test-effort.ts";
import {
	Float,
	NdArray,
	PlainDate,
	PlainDateTime,
	Tuple,
} from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";
import type { BoxArgument, BoxResult, Labelled } from "./gen/typed.ts";
import { sharedPool, tools } from "./typed-pool.ts";

const open = sharedPool();
const LONG = { timeout: 120_000 };
const tsc = join(import.meta.dirname, "../../../../node_modules/.bin/tsc");

test("the types of this folder are those of its tools", () => {
	const { status, stderr } = spawnSync(
		PYTHON,
		[
			...["-m", "snakepit_bridge", "types", tools],
			...["--check", join(import.meta.dirname, "gen/typed.ts")],
		],
		{ encoding: "utf8" },
	);
	expect(stderr).toBe("");
	expect(status).toBe(0);
});

test.runIf(isThorough())(
	"the compiler takes the right calls of this folder and refuses the wrong ones",
	LONG,
	() => {
		const { status, stdout } = spawnSync(tsc, ["-p", import.meta.dirname], {
			encoding: "utf8",
		});
		expect(stdout).toBe("");
		expect(status).toBe(0);
	},
);

test("what a tool answers is of the type that is written for it", async () => {
	const { pool } = await open();

	const integer = await pool.execute("integer", { value: 5 });
	expectTypeOf(integer).toEqualTypeOf<number | bigint>();
	expect(integer).toBe(5);
	expect(await pool.execute("integer", [5n])).toBe(5);
	expect(await pool.execute("integer", { value: 2n ** 70n })).toBe(2n ** 70n);

	const number = await pool.execute("number", { value: 2 });
	expectTypeOf(number).toEqualTypeOf<number>();
	expect(number).toBe(2);
	for (const value of [Number.NaN, 0.5, -0])
		expect(await pool.execute("number", { value })).toBe(value);
	expect(await pool.execute("number", { value: new Float(2) })).toBe(2);
	expect(await pool.execute("number", [2n ** 70n])).toBe(2 ** 70);

	const text = await pool.execute("text", { value: "a" });
	expectTypeOf(text).toEqualTypeOf<string>();
	expect(text).toBe("a");

	const flag = await pool.execute("flag", { value: true });
	expectTypeOf(flag).toEqualTypeOf<boolean>();
	expect(flag).toBe(true);

	const nothing = await pool.execute("nothing", { value: null });
	expectTypeOf(nothing).toEqualTypeOf<null>();
	expect(nothing).toBeNull();

	const choice = await pool.execute("choice", { value: -3 });
	expectTypeOf(choice).toEqualTypeOf<"a" | 2 | -3 | true | null>();
	expect(choice).toBe(-3);

	const either = await pool.execute("either", { value: ["a"] });
	expectTypeOf(either).toEqualTypeOf<number | bigint | string[] | null>();
	expect(either).toStrictEqual(["a"]);
});

test("bytes, moments and arrays are of the classes that are written for them", async () => {
	const { pool } = await open();

	const binary = await pool.execute("binary", { value: Buffer.from("ab") });
	expectTypeOf(binary).toEqualTypeOf<Uint8Array>();
	expect(binary).toStrictEqual(new Uint8Array([97, 98]));
	const { buffer } = new Uint8Array([97]);
	const mutable = await pool.execute("mutable", { value: buffer });
	expectTypeOf(mutable).toEqualTypeOf<Uint8Array>();
	expect(mutable).toStrictEqual(new Uint8Array([97]));

	const moment = await pool.execute("moment", { value: new Date(0) });
	expectTypeOf(moment).toEqualTypeOf<Date | PlainDateTime>();
	expect(moment).toStrictEqual(new Date(0));
	const noon = new PlainDateTime(2030, 1, 31, 12);
	expect(await pool.execute("moment", { value: noon })).toStrictEqual(noon);
	const day = await pool.execute("day", { value: new PlainDate(2030, 1, 31) });
	expectTypeOf(day).toEqualTypeOf<PlainDate>();
	expect(day).toStrictEqual(new PlainDate(2030, 1, 31));

	const data = new Float32Array([1, 2]);
	const floats = await pool.execute("floats", { value: data });
	expectTypeOf(floats).toEqualTypeOf<NdArray<"float32">>();
	expectTypeOf(floats.data).toEqualTypeOf<Float32Array>();
	expect(floats).toStrictEqual(NdArray.from(data));
	const column = NdArray.from(data, [2, 1]);
	expect(await pool.execute("floats", { value: column })).toStrictEqual(column);
	const pixels = NdArray.from(new Uint8Array([1]));
	expect(await pool.execute("pixels", { value: pixels })).toStrictEqual(pixels);
	const long = new BigUint64Array([1n]);
	const array = await pool.execute("array", { value: long });
	expectTypeOf(array).toEqualTypeOf<NdArray>();
	expect(array).toStrictEqual(NdArray.from(long));
});

test("what has parts is made of the parts that are written for it", async () => {
	const { pool } = await open();

	const numbers = await pool.execute("numbers", { value: [1, new Float(2)] });
	expectTypeOf(numbers).toEqualTypeOf<number[]>();
	expect(numbers).toStrictEqual([1, 2]);
	const words = await pool.execute("words", { value: Tuple.of("a") });
	expectTypeOf(words).toEqualTypeOf<string[]>();
	expect(words).toStrictEqual(["a"]);

	const sizes = await pool.execute("sizes", { value: { a: 1 } });
	expectTypeOf(sizes).toEqualTypeOf<Record<string, number | bigint>>();
	expect(sizes).toStrictEqual({ a: 1 });
	const mapped = new Map([["a", 1]]);
	expect(await pool.execute("sizes", [mapped])).toStrictEqual({ a: 1 });
	const chosen = await pool.execute("by_choice", { value: { x: 1 } });
	expectTypeOf(chosen).toEqualTypeOf<{
		x?: number | bigint;
		y?: number | bigint;
	}>();
	expect(chosen).toStrictEqual({ x: 1 });

	type ByNumber = Record<string, never> | Map<number | bigint, string>;
	const value = new Map([[1, "a"]]);
	const byNumber = await pool.execute("by_number", { value });
	expectTypeOf(byNumber).toEqualTypeOf<ByNumber>();
	expect(byNumber).toStrictEqual(value);
	const none: ByNumber = new Map();
	expect(await pool.execute("by_number", { value: none })).toStrictEqual({});
	const text = { value: new Map([["a", true]]) };
	const byEither = await pool.execute("by_either", text);
	expectTypeOf(byEither).toEqualTypeOf<
		Record<string, boolean> | Map<number | bigint | string, boolean>
	>();
	expect(byEither).toStrictEqual({ a: true });

	const pair = await pool.execute("pair", { value: [1, "a"] });
	expectTypeOf(pair).toEqualTypeOf<[number | bigint, string]>();
	expect(pair).toStrictEqual(Tuple.of(1, "a"));
	const run = await pool.execute("run", { value: [1, 0.5] });
	expectTypeOf(run).toEqualTypeOf<Tuple<number>>();
	expect(run).toStrictEqual(Tuple.of(1, 0.5));
	expect(await pool.execute("numbers", { value: run })).toStrictEqual([1, 0.5]);
	const cell = new Set([Tuple.of(1, "a")]);
	const cells = await pool.execute("cells", { value: cell });
	expectTypeOf(cells).toEqualTypeOf<Set<Tuple<number | bigint | string>>>();
	expect(cells).toStrictEqual(cell);
	expect(await pool.execute("cells", { value: cells })).toStrictEqual(cell);
	const frozen = await pool.execute("frozen", { value: new Set(["a"]) });
	expectTypeOf(frozen).toEqualTypeOf<Set<string>>();
	expect(frozen).toStrictEqual(new Set(["a"]));

	const inside: BoxArgument = { label: "b", corner: [1, 2] };
	const box = await pool.execute("box", {
		value: { label: "a", corner: undefined, inside },
	});
	expectTypeOf(box).toEqualTypeOf<BoxResult>();
	expectTypeOf<BoxResult>().toEqualTypeOf<{
		label: string;
		corner?: [number | bigint, number];
		inside?: BoxResult;
	}>();
	const corner = Tuple.of(1, 2);
	expect(box).toStrictEqual({ label: "a", inside: { label: "b", corner } });
	// @ts-expect-error a key that it does not have
	const wrong: BoxArgument = { label: "a", inside: { lable: "b" } };
	await expect(pool.execute("box", { value: wrong })).rejects.toMatchObject({
		code: "INVALID_ARGUMENTS",
		message: expect.stringContaining("$.value.inside"),
	});
	const label: Labelled = { label: "a" };
	const labelled = await pool.execute("labelled", { value: label });
	expectTypeOf(labelled).toEqualTypeOf<{ label: string }>();
	expect(labelled).toStrictEqual(label);
});

test("of what is not described nothing is promised", async () => {
	const { pool } = await open();
	const anything = await pool.execute("anything", { value: { a: 1 } });
	expectTypeOf(anything).toEqualTypeOf<unknown>();
	expect(anything).toStrictEqual({ a: 1 });
	const iterable = await pool.execute("iterable", { value: [1] });
	expectTypeOf(iterable).toEqualTypeOf<unknown>();
	expect(iterable).toStrictEqual(new Set([1]));
	const sequence = await pool.execute("sequence", { value: ["a", "b"] });
	expectTypeOf(sequence).toEqualTypeOf<unknown>();
	expect(sequence).toBe("ab");
	expectTypeOf(await pool.execute("odd")).toEqualTypeOf<unknown>();
});

test("arguments are given by name or by position, and those with a default left out", async () => {
	const { pool } = await open();
	const hello = ["Hello, Ada!"];
	expect(await pool.execute("greet", { name: "Ada" })).toEqual(hello);
	expect(await pool.execute("greet", ["Ada", 1])).toEqual(hello);
	const times = undefined;
	expect(await pool.execute("greet", { name: "Ada", times })).toEqual(hello);
	const first = await pool.execute("optional");
	expect(first).toEqual([1, null]);
	expect(await pool.execute("optional", [])).toEqual(first);
	expect(await pool.execute("optional", { second: null })).toEqual(first);
	const placed = pool.execute("placed", { first: 5, third: 6 });
	expect(await placed).toEqual([5, 2, 6]);
	const all = pool.execute("placed", { first: 5, second: 6 });
	expect(await all).toEqual([5, 6, 3]);
	expect(await pool.execute("keyword", { key: "a" })).toBe("0a");
	expect(await pool.execute("rest", ["a", 2, 3n])).toEqual([1, 2, 3]);
	const others = await pool.execute("others", { first: "a", b: 1 });
	expect(others).toEqual({ b: 1 });
	expect(await pool.execute("counts", { a: 1, b: 2n })).toEqual({ a: 1, b: 2 });
	expect(await pool.execute("new", [1, 2, 3, 4])).toBe(10);
	expect(await pool.execute('a "name" \\ */\n', {})).toBe("named");
	const session = pool.session();
	expect(await session.execute("counter.next")).toBe(1);
	session.close();
});

test("a generator is a stream of what it yields", async () => {
	const { pool } = await open();
	for (const command of ["count", "count_widely", "count_later"] as const) {
		const counted = await Array.fromAsync(pool.stream(command, { below: 2 }));
		expectTypeOf(counted).toEqualTypeOf<Array<number | bigint>>();
		expect(counted).toEqual([0, 1]);
	}
	const counting = pool.stream("count_and_total", { below: 3 });
	expect(await Array.fromAsync(counting)).toEqual([0, 1, 2]);
	const { result } = counting;
	expectTypeOf(result).toEqualTypeOf<
		Promise<Record<string, number | bigint>>
	>();
	expect(await result).toEqual({ total: 3 });
	const input = [1, 2];
	const sums = pool.stream("running_sum", undefined, { input });
	expect(await Array.fromAsync(sums)).toEqual([1, 3]);
});
