import { expect, test } from "vitest";
import { progressOf } from "../src/progress.ts";

test.each([
	["a part of a total", { progress: 1, total: 4, message: "m" }, 0.25, "m"],
	["none of a total", { progress: 0, total: 4 }, 0, ""],
	["a count without a total", { progress: 7 }, undefined, ""],
	["none of nothing", { progress: 0, total: 0 }, undefined, ""],
	["more than the total", { progress: 5, total: 4 }, 1, ""],
	["less than none", { progress: -1, total: 4 }, 0, ""],
	[
		"a long message",
		{ progress: 1, total: 1, message: "x".repeat(9_999) },
		1,
		"x".repeat(1_000),
	],
])("a server reports %s", (_, report, fraction, message) => {
	expect(progressOf(report)).toEqual({ fraction, message });
});
