import { expect, test } from "vitest";
import { incidentLines } from "../../src/runs/runs-commands.ts";

function incident(text: string, lines: readonly string[] = []) {
	return { wallMs: undefined, runId: "abcdefg", text, lines };
}

test("without incidents there is one sentence", () => {
	expect(incidentLines([], false)).toEqual([
		"No worker and no host ended unexpectedly.",
	]);
});

test("a row has the last line of output, or all lines follow it", () => {
	const found = [incident("crashed", ["one", "two"]), incident("killed")];
	expect(incidentLines(found, false)).toEqual([
		"TIME     RUN      WHAT",
		"unknown  abcdefg  crashed; last line: two",
		"unknown  abcdefg  killed",
	]);
	expect(incidentLines(found, true).slice(1)).toEqual([
		"unknown  abcdefg  crashed",
		"    one",
		"    two",
		"unknown  abcdefg  killed",
	]);
});

test("50 are shown, and a line says how many older ones there are", () => {
	const found = Array.from({ length: 52 }, (_, index) =>
		incident(`number ${index}`),
	);
	expect(incidentLines(found.slice(0, 50), false)).toHaveLength(51);
	const lines = incidentLines(found, false);
	expect(lines).toHaveLength(52);
	expect(lines.at(-2)).toMatch(/ number 49$/);
	expect(lines.at(-1)).toBe(
		"2 older incidents are not shown. All of them: snakepit incidents --json",
	);
});
