import { expect, test } from "vitest";
import { CommandFailed } from "../../src/command/command-failed.ts";
import { callArguments } from "../../src/live/call-arguments.ts";

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
