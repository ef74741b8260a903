import { expect, test } from "vitest";
import { commandToRepeat } from "../../../scripts/command-to-repeat.ts";
import { resultsPage } from "../../src/report/page.ts";
import { PATHS } from "../../src/report/run-facts.ts";
import type { CaseSummary } from "../../src/report/summary.ts";

const facts = {
	machine: "2 × a processor, 24 GB",
	kernel: "Linux 6.18",
	node: "24.21.0",
	python: "3.11.7",
	date: "2026-01-02",
	seed: 42,
	tookMinutes: 30,
	command: "npx pnpm@12 chaos --seed 42",
};
const summary: CaseSummary = {
	row: "the host is killed",
	name: "idle | busy",
	protections: "none",
	promise: "kept",
	rounds: 3,
	leftovers: 0,
	wrongKills: 0,
	falseKills: 0,
	broken: [],
	times: { p50Ms: 4.25, p99Ms: 120.4, maxMs: 120.4 },
	verdict: "not met",
	note: "p99 above 100 ms",
};

test("the page has where and how it was made, and has every case under its row", () => {
	const page = resultsPage([{ ...facts, cases: [summary], peers: [] }]);
	for (const text of [
		"seed 42 in 30 minutes",
		"| kernel | Linux 6.18 |",
		"## The host is killed",
		"1 kept every count but missed a time, 0 are broken",
		"| idle \\| busy | none | 3 | 0 | 4.3 | 120 | 120 | 0 | 0 | not met: p99 above 100 ms |",
	])
		expect(page).toContain(text);
	expect(page).not.toContain("Side by side");
});

test("every broken promise is written out, and peers have a table of their own", () => {
	const broken: CaseSummary = {
		...summary,
		verdict: "broken",
		broken: ["It exited with 1.\nand a stack"],
	};
	const peer = {
		name: "execa, cleanup",
		version: "9.0.0",
		rounds: 3,
		workers: 6,
		leftovers: 6,
		p50Ms: undefined,
		maxMs: undefined,
		note: "",
	};
	const page = resultsPage([{ ...facts, cases: [broken], peers: [peer] }]);
	expect(page).toContain("Broken, idle | busy (none):\n\n- It exited with 1.");
	expect(page).not.toContain("and a stack");
	expect(page).toContain("| execa, cleanup | 9.0.0 | 3 | 6 | 6 |  |  |  |");
});

test("programs have a table of their own: what is left, by who started it and how its host was killed", () => {
	const gone = { started: 3, left: 0 };
	const page = resultsPage([
		{ ...facts, cases: [], peers: [] },
		{
			...facts,
			...{ cases: [], peers: [] },
			programs: [
				{
					name: "a tree",
					usual: "`spawn`",
					left: {
						usual: [{ started: 3, left: 2 }, gone, { started: 3, left: 1 }],
						snakepit: [gone, gone, gone],
						guarded: [gone, { started: 4, left: 0 }, gone],
					},
				},
			],
		},
	]);
	expect(page).toContain(
		"| a tree | `spawn` | 2 of 3; 0 of 3; 1 of 3 | 0 of 3; 0 of 3; 0 of 3 | 0 of 3; 0 of 4; 0 of 3 |",
	);
});

test("a page of two runs names both, and says which run the times are from", () => {
	const run = {
		...facts,
		cases: [summary],
		peers: [],
		remark: "A row was left out.",
	};
	const page = resultsPage([
		run,
		{ ...run, command: "npx pnpm@12 chaos --timed" },
	]);
	expect(page).toContain(
		"`npx pnpm@12 chaos --seed 42` with seed 42 in 30 minutes, then `npx pnpm@12 chaos --timed`",
	);
	expect(page).toContain("times are from the last run");
	expect(page).toContain("\n\nA row was left out.\n");
	expect(page.match(/^\| idle/gm)).toHaveLength(1);
});

test("the command of a run can be typed again: words with spaces are quoted", () => {
	expect(
		commandToRepeat(
			"chaos",
			[
				...["--only", "floods 1 GB", "--only", "Python's lock"],
				...["--json", "a b.json", "--rounds", "8"],
			],
			PATHS,
		),
	).toBe(
		`npx pnpm@12 chaos --only 'floods 1 GB' --only 'Python'\\''s lock' --rounds 8`,
	);
});
