import { expect, test } from "vitest";
import { CommandFailed } from "../../src/command/command-failed.ts";
import { callArguments } from "../../src/live/call-arguments.ts";
import {
	duration,
	fitted,
	plainText,
	table,
} from "../../src/live/plain-text.ts";

test("what a worker prints cannot move the cursor, clear the screen, end a line or turn its direction", () => {
	expect(plainText("a\u001b[2Jb\rc\u009b31m\u202ed\u0000")).toBe(
		"a\\x1b[2Jb\\x0dc\\x9b31m\\x202ed\\x00",
	);
	expect(plainText("tabs\tand\nbreaks, ünïcödé 🐍")).toBe(
		"tabs\tand\nbreaks, ünïcödé 🐍",
	);
});

test("a line that is cut says so", () => {
	expect(["12345", "123456"].map((line) => fitted(line, 5))).toEqual([
		...["12345", "1234…"],
	]);
});

test("a table has columns of the width that they need", () => {
	expect(
		table([
			["A", "B"],
			["long", ""],
			["x", "yy"],
		]),
	).toEqual([...["A     B", "long", "x     yy"]]);
});

test.each([
	[12.4, "12 ms"],
	[1_250, "1.3 s"],
	[240_000, "4 min"],
	[11_520_000, "3.2 h"],
])("%d ms are %s", (ms, text) => expect(duration(ms)).toBe(text));

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
