import { expect, test } from "vitest";
import { isSmall } from "../../src/conversation/small-arguments.ts";

const cyclic: unknown[] = [];
cyclic.push(cyclic);

test.each<[string, unknown, boolean]>([
	["nothing", undefined, true],
	["a text of 100 characters", ["x".repeat(100)], true],
	["a text of 5,000 characters", { text: "x".repeat(5_000) }, false],
	["500 numbers", [Array.from({ length: 500 }, (_, n) => n)], true],
	["600 numbers", [Array.from({ length: 600 }, (_, n) => n)], false],
	["an array of a million holes", [new Array(1_000_000)], false],
	["many texts", Array.from({ length: 100 }, () => "x".repeat(50)), false],
	["an object within objects", { a: { b: { c: null } } }, true],
	["long keys", { ["k".repeat(5_000)]: 1 }, false],
	["bytes, in whatever class", [new Uint8Array(1)], false],
	["a date", [new Date(0)], false],
	["what holds itself", cyclic, false],
])("%s: small %#", (_, args, small) => {
	expect(isSmall(args)).toBe(small);
});
