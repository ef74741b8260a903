import { expect, test } from "vitest";
import { fitted, table } from "../../src/command/output.ts";

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
