import { expect, test } from "vitest";
import { coded } from "../../src/live/live-commands.ts";

test("the code of an error stands in the first line, before what a worker printed", () => {
	expect(coded("It failed.", "CODE")).toBe("It failed. (CODE)");
	expect(coded("It exited.\nIts last lines:\n  | oh", "CODE")).toBe(
		"It exited. (CODE)\nIts last lines:\n  | oh",
	);
});
