import { expect, test } from "vitest";
import { cutLine, type Line, paintLine, widthOf } from "../src/line.ts";

const line: Line = [
	["plain", "one "],
	["good", "two"],
	["bad", " three"],
];

test("a cut line is as wide as asked, and keeps its tones", () => {
	expect(cutLine(line, 6)).toEqual([
		["plain", "one "],
		["good", "tw"],
	]);
	expect(widthOf(cutLine(line, 9))).toBe(9);
	expect(cutLine(line, 100)).toEqual(line);
	expect(cutLine(line, 0)).toEqual([]);
});

test("escape codes in what is shown do not reach the terminal", () => {
	const hostile: Line = [["plain", "\x1b[31mred\x1b[0m"]];
	expect(paintLine(hostile, (_tone, text) => text)).toBe("red");
});

test("each piece is painted by its tone", () => {
	expect(paintLine(line, (tone, text) => `<${tone}>${text}`)).toBe(
		"<plain>one <good>two<bad> three",
	);
});
