import { expect, test } from "vitest";
import { benchmarksPage } from "../src/report/docs.ts";
import { formatFigure } from "../src/report/format-figure.ts";
import { drawPlot } from "../src/report/plot.ts";
import { caseTable } from "../src/report/table.ts";
import type { BenchResult, CaseResult } from "../src/result.ts";
import { spread } from "../src/summarize.ts";

const one: CaseResult = {
	name: "small-call",
	title: "A small call",
	about: "About it.",
	plot: "p50_us",
	runs: 2,
	figures: { p50_us: { title: "p50", unit: "us", better: "lower" } },
	rows: [
		{ name: "ours", kind: "ours", figures: { p50_us: spread([10, 30]) } },
		{ name: "a <peer>", kind: "peer", figures: {}, problem: "not here" },
	],
	aims: [
		{ text: "p50", unit: "us", atMost: 25, value: 20, verdict: "met" },
		{ text: "p99", unit: "us", atMost: 25, verdict: "not measured" },
	],
};
const result: BenchResult = {
	version: 1,
	startedAt: "2026-11-21T12:00:00.000Z",
	command: "pnpm bench",
	quick: true,
	machine: {
		processor: "Some processor",
		processors: 2,
		memoryGb: 4,
		kernel: "Linux 6",
		loadBefore: 3,
		versions: { node: "24.0.0" },
	},
	peers: {},
	cases: [one],
};

test("a table tells medians, extremes, what is missing, and the aims", () => {
	expect(caseTable(one)).toContain("20.0 (10.0 - 30.0)");
	expect(caseTable(one)).toContain("not here");
	expect(caseTable(one)).toContain("p50, aim <= 25.0 us: met: 20.0 us");
	expect(caseTable(one)).toContain("p99, aim <= 25.0 us: not measured");
});

test("the page says what load each run began under, and that a run was quick", () => {
	const page = benchmarksPage([result]);
	expect(page).toMatch(
		/^- `.*` on .* \(load average of the minute before: 3\)$/m,
	);
	expect(page).toContain("Quick:");
	expect(page).toContain("| ours | 20.0 (10.0 - 30.0) |");
});

test("a case of a later run takes the place of an earlier one's and says where it is from", () => {
	const again: CaseResult = { ...one, title: "A small call again", runs: 1 };
	const other: CaseResult = { ...one, name: "other", title: "Another" };
	const page = benchmarksPage([
		{ ...result, cases: [one, other] },
		{ ...result, command: "pnpm bench --only small-call", cases: [again] },
	]);
	expect(page.match(/^## .*$/gm)).toEqual([
		"## A small call again",
		"## Another",
	]);
	expect(page).toContain(
		"By `pnpm bench --only small-call` on 2026-11-21 (load average of the minute before: 3).",
	);
	expect(page).toContain("1 run)");
});

test("the plot has a bar for each row that was measured", () => {
	const svg = drawPlot([one]);
	expect(svg.match(/<rect/g)).toHaveLength(1);
	expect(svg).toContain("lower is better");
	expect(svg).toMatch(/<title>.*medians.*<\/title>/);
});

test("figures have three digits and no exponent", () => {
	expect([1234.5, 12.34, 1.234, 0.01234].map(formatFigure)).toEqual([
		"1,235",
		"12.3",
		"1.23",
		"0.012",
	]);
});
