import { expect, test } from "vitest";
import { asText, fromJson, toJson } from "../../src/server/json-values.ts";

test.each([
	[2n ** 53n - 1n, 2 ** 53 - 1],
	[2n ** 53n, "9007199254740992"],
	[Number.NaN, "NaN"],
	[Buffer.from("a"), "YQ=="],
	[new Float64Array([1, Number.NaN]), [1, "NaN"]],
	[new Set([1n]), [1]],
	[new Map([["a", 1n]]), { a: 1 }],
	[new Map([[2n, "b"]]), { "2": "b" }],
	[new Map([[[1n], "b"]]), [[[1], "b"]]],
	[
		{ at: new Date(0), in: [{ b: 2n }] },
		{ at: "1970-01-01T00:00:00.000Z", in: [{ b: 2 }] },
	],
	[{ toJSON: (): string => "own" }, "own"],
	[null, null],
])("%o is %o in JSON", (value, json) => {
	expect(toJson(value)).toEqual(json);
});

test("a text is its own text, and what is absent is null", () => {
	expect(asText("a")).toBe("a");
	expect(asText(undefined)).toBe("null");
	expect(asText(1n)).toBe("1");
});

const bytes = { type: "string", contentEncoding: "base64" };
const text = { type: "string" };
const time = { type: "string", format: "date-time" };
const list = { type: "array", items: text };
const set = { ...list, uniqueItems: true };
const a = Buffer.from("a");

test.each([
	["in a property", { properties: { x: bytes } }, { x: "YQ==" }, { x: a }],
	["in any property", { additionalProperties: bytes }, { x: "YQ==" }, { x: a }],
	["in a list", { items: bytes }, ["YQ=="], [a]],
	["in a tuple", { prefixItems: [text, bytes] }, ["YQ==", "YQ=="], ["YQ==", a]],
	["below a name", { $ref: "#/$defs/B", $defs: { B: bytes } }, "YQ==", a],
	["or nothing", { anyOf: [bytes, { type: "null" }] }, "YQ==", a],
	["or a text, which it is", { anyOf: [bytes, text] }, "YQ==", "YQ=="],
	["that Python reads", time, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"],
	["in a set", { ...set, items: bytes }, ["YQ=="], new Set([a])],
	["that is a set", { anyOf: [set, { type: "null" }] }, ["a"], new Set(["a"])],
	["that may be a set", { anyOf: [set, list] }, ["a"], ["a"]],
	[
		"that nothing describes",
		{ properties: {} },
		{ toString: "YQ==" },
		{ toString: "YQ==" },
	],
	["below an unknown name", { $ref: "#/$defs/toString" }, "YQ==", "YQ=="],
	["that is a number", bytes, 1, 1],
])("a value %s is taken as the schema says", (_, schema, json, value) => {
	expect(fromJson(json, schema)).toEqual(value);
});
