import { expect, expectTypeOf, test } from "vitest";
import {
	Float,
	NdArray,
	PlainDate,
	PlainDateTime,
	Tuple,
} from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { sharedPool } from "./typed-pool.ts";

const open = sharedPool();
test("what the compiler refuses the worker refuses", async () => {
	const { pool } = await open();
	const refused: readonly Promise<unknown>[] = [
		// @ts-expect-error not what it takes
		pool.execute("integer", { value: "5" }),
		// @ts-expect-error a Float is no int
		pool.execute("integer", { value: new Float(5) }),
		// @ts-expect-error misspelt
		pool.execute("greet", { nam: "Ada" }),
		// @ts-expect-error what it takes is left out
		pool.execute("greet"),
		// @ts-expect-error one too many
		pool.execute("greet", ["Ada", 1, 2]),
		// @ts-expect-error no such argument
		pool.execute("greet", { name: "Ada", often: 2 }),
		// @ts-expect-error it needs an argument that has a name only
		pool.execute("keyword", [1]),
		// @ts-expect-error not one of the choices
		pool.execute("choice", { value: "b" }),
		// @ts-expect-error another dtype
		pool.execute("floats", { value: new Float64Array(2) }),
		// @ts-expect-error these are bytes
		pool.execute("pixels", { value: new Uint8Array(2) }),
		// @ts-expect-error too short
		pool.execute("pair", { value: [1] }),
		// @ts-expect-error this one has a time
		pool.execute("day", { value: new PlainDateTime(2030, 1, 31) }),
		// @ts-expect-error no list can be in a set
		pool.execute("cells", { value: new Set([[1, "a"]]) }),
		// @ts-expect-error in Python it has no name, and the one before it is not given
		pool.execute("placed", { second: 2 }),
		// @ts-expect-error keys that are text
		pool.execute("by_number", { value: { a: "a" } }),
		// @ts-expect-error a key is missing
		pool.execute("box", { value: {} }),
		// @ts-expect-error it takes no null
		pool.execute("text", { value: null }),
		// @ts-expect-error it takes nothing
		pool.execute("odd", { a: 1 }),
		// @ts-expect-error it answers with a stream
		pool.execute("count", { below: "1" }),
		// @ts-expect-error there is no such tool
		pool.execute("greets", {}),
	];
	for (const [index, call] of refused.entries())
		expect(await failureOf(call), `call ${index}`).toMatchObject({
			name: "InputError",
		});
});

test("what merely has the same parts is not taken for a value of a class", () => {
	type Parts<Class> = Pick<Class, keyof Class>;
	expectTypeOf<PlainDateTime>().not.toExtend<PlainDate>();
	expectTypeOf<Parts<PlainDate>>().not.toExtend<PlainDate>();
	expectTypeOf<Parts<PlainDateTime>>().not.toExtend<PlainDateTime>();
	expectTypeOf<Parts<Float>>().not.toExtend<Float>();
	expectTypeOf<Parts<NdArray>>().not.toExtend<NdArray>();
	expectTypeOf<number[]>().not.toExtend<Tuple<number>>();
	expectTypeOf<Tuple<1>>().toExtend<Tuple<number>>();
	expectTypeOf<NdArray<"int8">>().toExtend<NdArray>();
	// What tells them apart is for the compiler alone.
	const all = [
		new Float(1),
		NdArray.from(new Int8Array(1)),
		new PlainDate(2030, 1, 31),
		new PlainDateTime(2030, 1, 31),
		Tuple.of(1),
	];
	for (const one of all) expect("brand" in one).toBe(false);
});
