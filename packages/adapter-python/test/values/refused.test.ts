import { InputError } from "@snakepit/core";
import { vectorFromArray } from "apache-arrow";
import { describe, expect, test } from "vitest";
import {
	encodeValue,
	NdArray,
	PlainDate,
	PlainDateTime,
} from "../../src/index.ts";

function refusal(value: unknown): InputError {
	try {
		encodeValue(value);
	} catch (error) {
		if (error instanceof InputError) return error;
		throw error;
	}
	throw new Error("it was not refused");
}

class Picture {
	readonly label = "x";
}
const sparse = Object.assign([], { 0: 1, 2: 3 });
const cycle: unknown[] = [];
cycle.push({ again: cycle });
const deep = (levels: number): unknown =>
	levels === 0 ? 1 : [deep(levels - 1)];

test("a value whose own code throws while it is read is refused with its path, and what it threw is the cause", () => {
	const thrown = new Error("not loaded");
	const lazy = {
		get rows(): never {
			throw thrown;
		},
	};
	const error = refusal({ tables: [lazy] });
	expect(error).toMatchObject({
		code: "VALUE_NOT_TRANSFERABLE",
		ran: "no",
		path: "$.tables[0].rows",
		message: "$.tables[0].rows cannot be read: not loaded",
	});
	expect(error.cause).toBe(thrown);
	const revoked = Proxy.revocable({}, {});
	revoked.revoke();
	expect(refusal({ a: revoked.proxy }).path).toBe("$.a");
});

describe("a value without encoding is named by its path", () => {
	test.each<[string, unknown, string, RegExp]>([
		["undefined", undefined, "$", /undefined/],
		["undefined in an array", { a: [1, undefined] }, "$.a[1]", /send null/],
		["a hole", { a: sparse }, "$.a[1]", /sparse/],
		[
			"a function",
			{ images: [{}, { label: () => 1 }] },
			"$.images[1].label",
			/function/,
		],
		["a symbol", [Symbol("x")], "$[0]", /Symbol\(x\)/],
		[
			"a key that is a symbol",
			{ a: { [Symbol("x")]: 1 } },
			"$.a",
			/Symbol\(x\)/,
		],
		[
			"an instance of a class",
			{ "my picture": new Picture() },
			'$["my picture"]',
			/instance of Picture.*plain object/,
		],
		[
			"a URL",
			new URL("http://a.b/c"),
			"$",
			/instance of URL.*its text: url\.href$/,
		],
		[
			"search parameters",
			new URLSearchParams("a=1"),
			"$",
			/its text: String\(parameters\)$/,
		],
		["a pattern", [/x/g], "$[0]", /RegExp.*its text: pattern\.source$/],
		["an error", [new TypeError("x")], "$[0]", /TypeError.*its message$/],
		[
			"a promise",
			[Promise.resolve(1)],
			"$[0]",
			/instance of Promise.*await it$/,
		],
		[
			"a column of apache-arrow",
			[vectorFromArray([1, 2])],
			"$[0]",
			/instance of Vector.*put it in a table: new Table/,
		],
		["an invalid Date", [new Date(Number.NaN)], "$[0]", /invalid Date/],
		[
			"a Date that Python has not",
			[new Date("+010000-01-01")],
			"$[0]",
			/years 1 to 9999/,
		],
		["a lone surrogate", { a: "x\ud800" }, "$.a", /surrogate/],
		[
			"a key with a lone surrogate",
			{ "\udc00": 1 },
			'$["\\udc00"]',
			/surrogate/,
		],
		["a DataView", [new DataView(new ArrayBuffer(1))], "$[0]", /DataView/],
		[
			"a value in a Map with text keys",
			new Map([["a b", Symbol.iterator]]),
			'$["a b"]',
			/Symbol/,
		],
		[
			"a value in a Map with other keys",
			new Map([[1, () => 1]]),
			"$[1]",
			/function/,
		],
		["a key in a Map", new Map([[() => 1, 1]]), "$<key 0>", /function/],
		["an item of a Set", new Set([1, Symbol.iterator]), "$[1]", /Symbol/],
		["a boxed number", [Object(1)], "$[0]", /instance of Number/],
	])("%s", (_, value, path, message) => {
		const error = refusal(value);
		expect(error).toMatchObject({
			code: "VALUE_NOT_TRANSFERABLE",
			ran: "no",
			path,
		});
		expect(error.message.startsWith(`${path} `)).toBe(true);
		expect(error.message).toMatch(message);
	});

	test("a cycle", () => {
		const error = refusal({ list: cycle });
		expect(error.message).toMatch(/contains itself/);
		expect(error.path).toMatch(/^\$\.list\[0\]\.again/);
		// The path goes round and round; a message is for people.
		expect(error.message.length).toBeLessThan(250);
	});

	test("more than 100 levels", () => {
		expect(() => encodeValue(deep(100))).not.toThrow();
		expect(refusal(deep(101)).message).toMatch(/more than 100 levels/);
	});
});

test("a value over the limit is refused before it is whole", () => {
	const many = Array.from({ length: 1000 }, () => new Uint8Array(10_000));
	expect(() => encodeValue(many, { maxBytes: 100_000 })).toThrow(
		expect.objectContaining({ code: "MESSAGE_TOO_LARGE" }),
	);
});

test("wrappers refuse what they cannot be", () => {
	expect(() => new PlainDate(2023, 2, 29)).toThrow(/day/);
	expect(() => PlainDate.from("2023-2-1")).toThrow(/YYYY-MM-DD/);
	expect(() => PlainDateTime.from("2023-02-01 10:00")).toThrow(/YYYY-MM-DDTHH/);
	expect(() => new PlainDateTime(2023, 1, 1, 24)).toThrow(/hour/);
	expect(() => new NdArray("int16", [3], new Uint8Array(5))).toThrow(
		/6 bytes, got 5/,
	);
	expect(() => new NdArray("int16", [-1], new Uint8Array())).toThrow(/shape/);
	expect(
		() => new NdArray("float128" as "float64", [0], new Uint8Array()),
	).toThrow(/dtype/);
	// In JavaScript the arguments may be in another order; the message is short then, too.
	const elements = new Float64Array(10_000) as never;
	expect(() => new NdArray(elements, [10_000], "float64" as never)).toThrow(
		/^new NdArray\(dtype, shape, data\): the dtype is a value of type object; known: bool.{0,400}$/,
	);
});
