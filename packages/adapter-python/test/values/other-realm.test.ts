import { createContext, runInContext, runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { isSmall } from "../../src/conversation/prefetched-calls.ts";
import { decodeValue, encodeValue, NdArray } from "../../src/index.ts";

// As in a test that runs in Jest.
const realm = createContext({});

/** Each is made in another realm and in this one. */
const SOURCES = [
	"new Date(86_400_000)",
	"new Map([[1, 'a'], ['b', new Date(0)]])",
	"new Map([['a', new Map([['b', 1]])]])",
	"new Set([1, 'a', null])",
	"new Set([new Set([1])])",
	"new Uint8Array([1, 2]).subarray(1)",
	"new Uint8Array([1, 2]).buffer",
	"new Uint8Array(new SharedArrayBuffer(2))",
	...[8, 16, 32].map((bits) => `new Int${bits}Array([1, -2])`),
	...[16, 32].map((bits) => `new Uint${bits}Array([1, 2]).subarray(1)`),
	...[32, 64].map((bits) => `new Float${bits}Array([1.5, -2])`),
	"new BigInt64Array([1n, -2n])",
	"new BigUint64Array([1n, 2n])",
	"[1, [2], { a: 3 }]",
	"({ a: [new Date(0)], b: Object.create(null) })",
] as const;

test.each(SOURCES)("%s of another realm is sent as one of this", (source) => {
	const theirs: object = runInContext(source, realm);
	const ours: object = runInThisContext(source);
	expect(Object.getPrototypeOf(theirs)).not.toBe(Object.getPrototypeOf(ours));
	const encoded = encodeValue([theirs]);
	expect(Buffer.from(encoded)).toEqual(Buffer.from(encodeValue([ours])));
	expect(decodeValue(encoded)).toEqual(decodeValue(encodeValue([ours])));
});

test("bytes of another realm become an array of numbers", () => {
	const bytes: Uint8Array = runInContext("new Uint8Array([1, 2, 3])", realm);
	expect(NdArray.from(bytes)).toEqual(NdArray.from(Uint8Array.of(1, 2, 3)));
});

test("a date of another realm is as small as one of this", () => {
	expect(isSmall([runInContext("new Date(0)", realm)])).toBe(true);
});

test.each([
	["a class", "new (class Picture {})()", "instance of Picture"],
	["an invalid date", "new Date(Number.NaN)", "invalid Date"],
	["an error", "new TypeError('x')", "send its message"],
	["a promise", "Promise.resolve(1)", "await it"],
	["a view", "new DataView(new ArrayBuffer(1))", "DataView"],
])("%s of another realm is refused like one of this", (_, source, problem) => {
	expect(() => encodeValue({ a: runInContext(source, realm) })).toThrow(
		expect.objectContaining({
			code: "VALUE_NOT_TRANSFERABLE",
			path: "$.a",
			message: expect.stringContaining(problem),
		}),
	);
});
