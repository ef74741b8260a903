import { expect, test } from "vitest";
import { type ChaosCase, GUARD, type RoundOutcome } from "../src/case.ts";
import {
	type CaseSummary,
	joinRuns,
	resultsPage,
	summarize,
} from "../src/report.ts";

const chaos: ChaosCase = {
	...{ row: "row", name: "case", protections: GUARD, promise: "kept" },
	selected: false,
	round: async () => ({}),
};

test.each<[string, RoundOutcome]>([
	["a leftover", { goneMs: 5, leftovers: 1 }],
	["a wrong kill", { goneMs: 5, wrongKills: 1 }],
	["a false kill", { goneMs: 5, falseKills: 1 }],
	["a broken promise", { goneMs: 5, broken: ["It exited with 1."] }],
])(
	"%s breaks a case, in however many good rounds, and in however many later runs",
	(_what, outcome) => {
		const good = Array<RoundOutcome>(99).fill({ goneMs: 5 });
		const broken = summarize(chaos, [...good, outcome]);
		expect(broken).toMatchObject({ verdict: "broken", rounds: 100 });
		const [joined] = joinRuns([[broken], [summarize(chaos, good)]]);
		expect(joined).toMatchObject({ verdict: "broken", rounds: 199 });
	},
);

test("leftovers where nothing is promised break nothing, and a wrong kill does", () => {
	const unpromised: ChaosCase = { ...chaos, promise: "none" };
	expect(summarize(unpromised, [{ leftovers: 4 }]).verdict).toBe(
		"not promised",
	);
	expect(summarize(unpromised, [{ wrongKills: 1 }]).verdict).toBe("broken");
});

test("a time is one that was measured, of a round that left nothing", () => {
	const outcomes = [{ goneMs: 5_000, leftovers: 1 }, { goneMs: 3 }];
	expect(summarize(chaos, outcomes).times).toEqual({ p50Ms: 3, maxMs: 3 });
});

test("the page has every run, every case below its row, and every broken promise", () => {
	const run = (command: string, cases: readonly CaseSummary[]) => ({
		...{ command, cases, peers: [], machine: "2 × one" },
		...{ software: "Linux", date: "2026-01-02", tookMinutes: 30 },
	});
	const broken = summarize(chaos, [{ broken: ["It exited.\nA stack."] }]);
	const ray = { ...summarize(chaos, [{ goneMs: 120.4 }]), row: "ray | two" };
	const page = resultsPage([run("chaos", [broken]), run("--ray", [ray])]);
	for (const text of [
		"| `chaos` | 30 | 2026-01-02 | 2 × one | Linux |\n| `--ray` |",
		"## Row\n\n| case |",
		"Broken, case (guard):\n\n- It exited.\n",
		"## Ray | two",
		"| case | guard | 1 | 0 | 120 | 120 | 0 | 0 | kept |",
		"1 rows are kept, 1 are broken",
	])
		expect(page).toContain(text);
});
