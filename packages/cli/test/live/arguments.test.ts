import { expect, test } from "vitest";
import { CommandFailed } from "../../src/command/failures.ts";
import { callArguments, coded } from "../../src/live/live-commands.ts";
import { filterOf } from "../../src/live/logs.ts";

test("arguments of a call are JSON where they can be, else text", () => {
	expect(
		callArguments([
			"n=1",
			"list=[1,2]",
			"text=hello",
			'quoted="1"',
			"empty=",
			"eq=a=b",
		]),
	).toEqual({
		...{ n: 1, list: [1, 2], text: "hello", quoted: "1", empty: "", eq: "a=b" },
	});
	for (const wrong of ["n", "=1"])
		expect(() => callArguments([wrong])).toThrow(CommandFailed);
});

test("what a tool takes only as text is text, as it was written", () => {
	const schema = {
		properties: {
			name: { type: "string" },
			maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
			either: { type: ["string", "integer"] },
			ratio: { anyOf: [{ type: "number" }, { type: "string" }] },
			open: {},
			model: { anyOf: [{ $ref: "#/$defs/Model" }, { type: "string" }] },
		},
	};
	const read = (...pairs: readonly string[]) => callArguments(pairs, schema);
	expect(read("name=12", "maybe=true", "either=1.50")).toEqual({
		...{ name: "12", maybe: "true", either: "1.50" },
	});
	expect(read('name="12"', "maybe=null", "either=12", "ratio=12")).toEqual({
		...{ name: "12", maybe: null, either: 12, ratio: 12 },
	});
	expect(read("name=[1]", "open=[1]", 'model={"a":1}', "extra=1")).toEqual({
		...{ name: "[1]", open: [1], model: { a: 1 }, extra: 1 },
	});
});

test("the code of an error stands in the first line, before what a worker printed", () => {
	expect(coded("It failed.", "CODE")).toBe("It failed. (CODE)");
	expect(coded("It exited.\nIts last lines:\n  | oh", "CODE")).toBe(
		"It exited. (CODE)\nIts last lines:\n  | oh",
	);
});

test.each([
	[{}, { sinceMs: 0, tail: undefined, follow: false }],
	[{ follow: true }, { sinceMs: undefined, tail: 10, follow: true }],
	[{ tail: 3 }, { sinceMs: undefined, tail: 3, follow: false }],
	[
		{ since: 5, follow: true },
		{ sinceMs: 5, tail: undefined, follow: true },
	],
] as const)("logs with %j asks for %j", (options, filter) => {
	expect(filterOf(options)).toMatchObject(filter);
});
