import { expect, expectTypeOf, test } from "vitest";
import {
	Float,
	NdArray,
	PlainDate,
	PlainDateTime,
	Tuple,
} from "../../src/index.ts";
import { reversedBySize } from "../../src/values/nd-array.ts";

test("wrappers are shown and compared as what they hold", () => {
	expect(new Float(1.5) > new Float(1)).toBe(true);
	const all = [
		new Float(1),
		new PlainDate(1, 2, 3),
		new PlainDateTime(2024, 2, 29, 12, 30, 15, 120),
		Tuple.of(1),
	];
	expect(JSON.stringify(all)).toBe(
		'[1,"0001-02-03","2024-02-29T12:30:15.000120",[1]]',
	);
	expect(() => new Float("1" as never)).toThrow(TypeError);
});

test("a tuple of several types has the type of each item", () => {
	const [count, name] = Tuple.of(1, "a");
	expectTypeOf(count).toEqualTypeOf<number>();
	expectTypeOf(name).toEqualTypeOf<string>();
	expectTypeOf(Tuple.of(1, "a")).toExtend<[number, string]>();
	expectTypeOf(Tuple.of(1, "a")).toExtend<Tuple<number | string>>();
	expect([count, name]).toEqual([1, "a"]);
});

test("what is derived from a tuple is a plain array", () => {
	const pair = Tuple.of(1, 2);
	expect(Array.isArray(pair)).toBe(true);
	expect(pair.map((n) => n + 1).constructor).toBe(Array);
	expect(Tuple.of(3)).toStrictEqual(Tuple.from([3]));
});

test("an array takes its elements without a copy, where alignment allows", () => {
	const data = new Float32Array([1, 2, 3, 4]);
	const array = NdArray.from(data, [2, 2]);
	expect(array.data.buffer).toBe(data.buffer);
	expect([array.dtype, array.size]).toEqual(["float32", 4]);
	const odd = new Uint8Array(new ArrayBuffer(9), 1);
	expect(new NdArray("int16", [4], odd).data).toEqual(new Int16Array(4));
	expect(new NdArray("complex64", [2], data.buffer).size).toBe(2);
	expect(NdArray.from(new Uint8Array([1, 2])).dtype).toBe("uint8");
	expect(() => NdArray.from(new DataView(new ArrayBuffer(1)))).toThrow(
		/typed array/,
	);
	expect(() => new NdArray("int8", Array(65).fill(1), data)).toThrow(
		/64 dimensions/,
	);
});

test("the order of bytes is turned around element by element", () => {
	const bytes = new Uint8Array([1, 2, 3, 4]);
	expect([...reversedBySize(bytes, 2)]).toEqual([2, 1, 4, 3]);
	expect([...reversedBySize(bytes, 4)]).toEqual([4, 3, 2, 1]);
});
