import { expect, test } from "vitest";
import { temporaryDirectory } from "../../scripts/test-data-directory.ts";
import { cases } from "../src/cases.ts";
import {
	benchmarksPage,
	keepResults,
	keptResults,
	overview,
	QUESTIONS,
} from "../src/report.ts";
import { type BenchResult, type CaseResult, summarize } from "../src/run.ts";

const one: CaseResult = {
	name: "small-call",
	title: "A small call",
	about: "About it.",
	runs: 2,
	figures: { p50_us: { title: "p50", unit: "us", better: "lower" } },
	rows: [
		summarize("ours, framed", [{ p50_us: 10 }, { p50_us: 30 }]),
		summarize("pythonia", [{ p50_us: 40 }, new Error("exit 1")]),
		{ name: "a <peer>", figures: {}, problem: "not here" },
	],
};
const result: BenchResult = {
	version: 1,
	startedAt: "2026-11-21T12:00:00.000Z",
	command: "pnpm bench",
	quick: false,
	machine: {
		...{ processor: "Some processor", processors: 2, memoryGb: 4 },
		...{ kernel: "Linux 6", loadBefore: 3, versions: { node: "24.0.0" } },
	},
	peers: {},
	cases: [one],
};

test("the page has medians and extremes, what is missing or failed, the command, its day and load, and the best other", () => {
	const page = benchmarksPage([result]);
	for (const text of [
		"| How long does one small call take? | 20.0 us | 40.0 us (pythonia) | 2.00 times better |",
		"| ours, framed | 20.0 (10.0 - 30.0) |",
		"| a &lt;peer> | not here |",
		"- pythonia: 1 of 2 runs failed: exit 1",
		"2 runs by `pnpm bench` on 2026-11-21 (load average of the minute before: 3).",
	])
		expect(page).toContain(text);
	expect(overview([])).toContain("take? | not measured |  |  |");
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

test("a later run's case takes the place of an earlier one's, and a quick run is refused", () => {
	const directory = temporaryDirectory();
	const soak: CaseResult = { ...one, name: "soak", rows: [] };
	keepResults([{ ...result, cases: [soak, one] }], directory);
	const again = { ...result, command: "pnpm bench --only small-call" };
	keepResults([again], directory);
	const kept = [again, { ...result, cases: [soak] }];
	expect(keptResults(directory)).toEqual(kept);
	expect(() =>
		keepResults([result, { ...result, quick: true }], directory),
	).toThrow("a quick run");
	expect(keptResults(directory)).toEqual(kept);
});
