import { expect, test } from "vitest";
import { isSmall } from "../../src/conversation/prefetched-calls.ts";
import { NdArray } from "../../src/values/nd-array.ts";

const small = new NdArray("float32", [4, 384], new Float32Array(4 * 384));
const large = new NdArray("float32", [12, 384], new Float32Array(12 * 384));
const cyclic: unknown[] = [];
cyclic.push(cyclic);

test.each<[string, unknown, boolean]>([
	["nothing", undefined, true],
	["a text of 100 characters", ["x".repeat(100)], true],
	["a text of 16,000 characters", { text: "x".repeat(16_000) }, true],
	["a text of 17,000 characters", { text: "x".repeat(17_000) }, false],
	["2,000 numbers", [Array.from({ length: 2_000 }, (_, n) => n)], true],
	["2,100 numbers", [Array.from({ length: 2_100 }, (_, n) => n)], false],
	["an array of a million holes", [new Array(1_000_000)], false],
	["many texts", Array.from({ length: 400 }, () => "x".repeat(50)), false],
	["an object within objects", { a: { b: { c: null } } }, true],
	["long keys", { ["k".repeat(17_000)]: 1 }, false],
	["16,000 bytes", [new Uint8Array(16_000)], true],
	["17,000 bytes", [Buffer.alloc(17_000)], false],
	["2,000 floats", [new Float64Array(2_000)], true],
	["a small array", [small], true],
	["a large array", [large], false],
	["a date", [new Date(0)], true],
	[
		"a thousand dates",
		[Array.from({ length: 1_000 }, () => new Date(0))],
		false,
	],
	["another class, whatever its size", [new Map()], false],
	["what holds itself", cyclic, false],
])("%s: small %#", (_, args, small) => {
	expect(isSmall(args)).toBe(small);
});
