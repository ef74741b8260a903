import { expect, test } from "vitest";
import { signatureOf } from "../../src/wording/signatures.ts";

const tool = (properties: object, more: object = {}) => ({
	name: "tool",
	argumentsSchema: { type: "object", properties, ...more },
});

test.each([
	[{}, {}, "tool()"],
	[
		{
			numbers: { type: "array", items: { type: "number" } },
			unit: { type: "string", default: "m" },
		},
		{ required: ["numbers"] },
		'tool(numbers: number[], unit: string = "m")',
	],
	[
		{
			model: { enum: ["small", 2] },
			mark: { anyOf: [{ type: "integer" }, { type: "null" }], default: null },
		},
		{ required: ["model"] },
		'tool(model: "small" | 2, mark: integer | null = null)',
	],
	[{ more: {} }, {}, "tool(more?: any)"],
	[
		{
			list: { type: "array", items: { type: ["string", "null"] } },
			pair: { type: "array", prefixItems: [{ type: "string" }, {}] },
		},
		{ required: ["list", "pair"] },
		"tool(list: (string | null)[], pair: [string, any])",
	],
	[
		{
			record: { $ref: "#/$defs/Point" },
			map: { type: "object", additionalProperties: { type: "number" } },
		},
		{ required: ["record", "map"] },
		"tool(record: Point, map: { [key]: number })",
	],
	[
		{ a: { const: 1 } },
		{ required: ["a"], additionalProperties: { type: "string" } },
		"tool(a: 1, ...others: string)",
	],
])("%j with %j is %s", (properties, more, text) => {
	expect(signatureOf(tool(properties, more))).toBe(text);
});

test("a stream is marked, a long default is cut, and a tool without a schema has no arguments", () => {
	expect(
		signatureOf({ name: "t", argumentsSchema: null, shape: "stream" }),
	).toBe("t() -> stream");
	const long = tool({ text: { type: "string", default: "x".repeat(500) } });
	expect(signatureOf(long).length).toBeLessThan(100);
});
