import { expect, test } from "vitest";
import { widthOf } from "../src/line.ts";
import {
	drawBar,
	drawProgressBar,
	type Progress,
	sayProgress,
	shareIn,
} from "../src/progress-bar.ts";
import { text } from "./text.ts";

const half: Progress = {
	doing: "reading digits",
	done: 900,
	total: 1_800,
	perSecond: 1_234.5,
};

test("a wide terminal shows what is done, a bar, how many, and how fast", () => {
	expect(text(drawProgressBar(half, 80))).toMatch(
		/^reading digits {2}━+─+ {4}900 of 1,800 {2}1,235\/s$/,
	);
});

test("where there is less room the rate goes, then the words, then the bar", () => {
	const drawn = (columns: number) => text(drawProgressBar(half, columns));
	expect(drawn(46)).toBe("reading digits  ━━━━━━━───────    900 of 1,800");
	expect(drawn(30)).toBe("━━━━━━━───────    900 of 1,800");
	expect(drawn(20)).toBe("900 of 1,800");
	expect(drawn(6)).toBe("900 of");
});

test("at no width does the line get wider than the terminal", () => {
	for (let columns = 0; columns < 200; columns++)
		expect(widthOf(drawProgressBar(half, columns))).toBeLessThanOrEqual(
			columns,
		);
});

test("the bar is full when all is done, and not before", () => {
	expect(text(drawBar(1, 10))).toBe("━".repeat(10));
	expect(text(drawBar(0.999, 10))).toBe(`${"━".repeat(9)}─`);
	expect(text(drawBar(0, 10))).toBe("─".repeat(10));
	expect(text(drawBar(7, 10))).toBe("━".repeat(10));
});

test("nothing to do is no reason to divide by zero", () => {
	const nothing = { ...half, done: 0, total: 0 };
	expect(text(drawProgressBar(nothing, 80))).toContain("0 of 0");
	expect(sayProgress(nothing)).toBe("  0 %  reading digits: 0 of 0");
});

test("a line of progress tells its share, any other line none", () => {
	expect(sayProgress(half)).toBe(" 50 %  reading digits: 900 of 1,800");
	expect(shareIn(sayProgress(half))).toBe(0.5);
	expect(shareIn(sayProgress({ ...half, done: 1_800 }))).toBe(1);
	expect(shareIn("digits-0 | 50 % of it")).toBeUndefined();
});
