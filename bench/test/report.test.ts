import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cases } from "../src/cases.ts";
import { benchmarksPage } from "../src/report/docs.ts";
import { formatFigure } from "../src/report/format-figure.ts";
import { keepResults, keptResults } from "../src/report/kept-results.ts";
import { overview, QUESTIONS } from "../src/report/overview.ts";
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
		/by `pnpm bench` on .* \(load average of the minute before: 3\)\.$/m,
	);
	expect(page).toContain("Quick:");
	expect(page).toContain("| ours | 20.0 (10.0 - 30.0) |");
});

test("each of the ten questions names a figure and rows that are measured", () => {
	expect(QUESTIONS).toHaveLength(10);
	for (const { case: name, figure, ours, others } of QUESTIONS) {
		const asked = cases.find((each) => each.name === name);
		expect(asked?.figures).toHaveProperty(figure);
		const rows = asked?.rows.map((row) => row.name);
		expect(rows).toEqual(expect.arrayContaining([ours, ...others]));
	}
});

test("the page begins with a question, our answer, the best other one and their ratio", () => {
	const rowOf = (name: string, median: number, kind: "ours" | "peer") => ({
		...{ name, kind },
		figures: { p50_us: spread([median]) },
	});
	const measured = (our: number): CaseResult => ({
		...one,
		rows: [
			rowOf("ours, framed", our, "ours"),
			rowOf("pythonia", 300, "peer"),
			rowOf("python-shell, JSON lines", 150, "peer"),
			rowOf("node-calls-python, in process", 1, "peer"),
		],
	});
	const page = benchmarksPage([{ ...result, cases: [measured(100)] }]);
	expect(page.split("\n")[4]).toBe(
		"| How long does one small call take? | 100 us | 150 us (python-shell, JSON lines) | 1.50 times better |",
	);
	expect(overview([measured(450)])).toContain("3.00 times worse");
	expect(overview([one])).toContain("take? | not measured |  |  |");
});

test("each case says which run it is from, and its machine where they differ", () => {
	const other: CaseResult = {
		...one,
		name: "other",
		title: "Another",
		runs: 1,
	};
	const of = { ...result, command: "pnpm bench --only other", cases: [other] };
	const page = benchmarksPage([result, of]);
	expect(page.match(/^## .*$/gm)).toEqual(["## A small call", "## Another"]);
	expect(page).toContain(
		"1 run by `pnpm bench --only other` on 2026-11-21 (load average of the minute before: 3).",
	);
	expect(page.match(/Some processor/g)).toHaveLength(1);
	const peers = { tinypool: "1" };
	const newer = { ...of, peers: { tinypool: "2" } };
	expect(benchmarksPage([{ ...result, peers }, newer])).toMatch(
		/tinypool 1.*tinypool 2/s,
	);
	const machine = { ...result.machine, processor: "Another processor" };
	const elsewhere = benchmarksPage([result, { ...of, machine }]);
	expect(elsewhere).toMatch(/Some processor.*## Another.*Another processor/s);
});

test("a case that was read back from an earlier page says so", () => {
	expect(benchmarksPage([result])).not.toContain("read back");
	const { samples: _, ...rounded } = spread([10, 30]);
	const [first] = one.rows;
	if (first === undefined) throw new Error("There is no row.");
	const rows = [{ ...first, figures: { p50_us: rounded } }];
	expect(benchmarksPage([{ ...result, cases: [{ ...one, rows }] }])).toMatch(
		/before: 3\), read back, rounded, from this page/,
	);
});

test("of what is kept, a later run's case takes the place of an earlier one's", () => {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-bench-"));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	const full = { ...result, quick: false };
	const soak: CaseResult = { ...one, name: "soak" };
	keepResults([{ ...full, cases: [soak, one] }], directory);
	const again = { ...full, command: "pnpm bench --only small-call" };
	keepResults([again], directory);
	const kept = [again, { ...full, cases: [soak] }];
	expect(keptResults(directory)).toEqual(kept);
	expect(() => keepResults([full, result], directory)).toThrow("a quick run");
	expect(() => keepResults([again, {} as BenchResult], directory)).toThrow(
		"no results of the benchmark",
	);
	expect(keptResults(directory)).toEqual(kept);
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
