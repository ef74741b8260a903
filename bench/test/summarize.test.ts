import { expect, test } from "vitest";
import type { Aim, Case, Row } from "../src/case.ts";
import { caseResult, judge, rowResult, spread } from "../src/summarize.ts";

const row: Row = { name: "ours", kind: "ours", measure: async () => ({}) };

test("the median of an even number of runs is between the two in the middle", () => {
	expect(spread([4, 1, 3, 2])).toMatchObject({ median: 2.5, min: 1, max: 4 });
});

test("a failed run is reported, and the others still count", () => {
	const result = rowResult(row, [
		{ kind: "measured", figures: { p50: 2 } },
		{ kind: "failed", problem: "exit 1" },
	]);
	expect(result.figures["p50"]?.median).toBe(2);
	expect(result.problem).toBe("1 of 2 runs failed: exit 1");
});

test("an aim is met, not met, not measured, or without a bound", () => {
	const aim = (value: number, bounds: object): Aim => ({
		text: "",
		unit: "x",
		value: () => value,
		...bounds,
	});
	const verdict = (one: Aim) => judge(one, () => Number.NaN).verdict;
	expect(verdict(aim(2, { atMost: 2 }))).toBe("met");
	expect(verdict(aim(2, { atMost: 1 }))).toBe("not met");
	expect(verdict(aim(2, { atLeast: 3 }))).toBe("not met");
	expect(verdict(aim(Number.NaN, { atMost: 1 }))).toBe("not measured");
	expect(verdict(aim(2, {}))).toBe("stated");
});

test("an aim compares the medians of its own run", () => {
	const one: Case = {
		name: "case",
		title: "",
		about: "",
		plot: "p50",
		figures: {},
		rows: [],
		aims: [
			{ text: "", unit: "x", atMost: 1, value: (of) => of("ours", "p50") },
		],
	};
	const outcome = { kind: "measured", figures: { p50: 0.5 } } as const;
	const result = caseResult(one, [rowResult(row, [outcome])], 1);
	expect(result.aims).toMatchObject([{ value: 0.5, verdict: "met" }]);
});
