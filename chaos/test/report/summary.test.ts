import { expect, test } from "vitest";
import type { ChaosCase, RoundOutcome } from "../../src/case.ts";
import {
	type CaseSummary,
	joinRuns,
	summarize,
	summarizeTimes,
} from "../../src/report/summary.ts";

const chaos: ChaosCase = {
	row: "row",
	name: "case",
	protections: ["watchdog", "guard"],
	promise: "kept",
	rounds: 1,
	target: { p50Ms: 10, p99Ms: 100, reason: "the machine is slow" },
	round: async () => ({}),
};

const judge = (
	outcomes: readonly RoundOutcome[],
	changes: Partial<ChaosCase> = {},
) => summarize({ ...chaos, ...changes }, outcomes, undefined);

test("percentiles are times that were measured, by nearest rank", () => {
	const hundred = Array.from({ length: 100 }, (_, at) => 100 - at);
	expect(summarizeTimes(hundred)).toEqual({ p50Ms: 50, p99Ms: 99, maxMs: 100 });
	expect(summarizeTimes([7])).toEqual({ p50Ms: 7, p99Ms: 7, maxMs: 7 });
	expect(summarizeTimes([])).toBe(undefined);
});

test("times below the target are met, times above it are not met and break nothing", () => {
	expect(judge([{ goneMs: 5 }])).toMatchObject({ verdict: "met", note: "" });
	expect(judge([{ goneMs: 50 }])).toMatchObject({
		verdict: "not met",
		note: "p50 above 10 ms; the machine is slow",
	});
});

test.each<[string, RoundOutcome]>([
	["a leftover", { goneMs: 5, leftovers: 1 }],
	["a wrong kill", { goneMs: 5, wrongKills: 1 }],
	["a false kill", { goneMs: 5, falseKills: 1 }],
	["a broken promise", { goneMs: 5, broken: ["It exited with 1."] }],
])("%s breaks a case, in however many good rounds", (_what, outcome) => {
	const rounds = [...Array(99).fill({ goneMs: 5 }), outcome];
	expect(judge(rounds)).toMatchObject({ verdict: "broken", rounds: 100 });
});

test("leftovers where nothing is promised break nothing, and a wrong kill does", () => {
	const none = { promise: "none" } as const;
	expect(judge([{ leftovers: 4 }], none).verdict).toBe("not promised");
	expect(judge([{ wrongKills: 1 }], none).verdict).toBe("broken");
});

test("a round that left something has no time", () => {
	const { times } = judge([{ goneMs: 5_000, leftovers: 1 }, { goneMs: 3 }]);
	expect(times).toEqual({ p50Ms: 3, p99Ms: 3, maxMs: 3 });
});

test("a sentence that comes often is counted", () => {
	const sentence = { broken: ["It exited with 1."] };
	expect(judge([sentence, {}, sentence]).broken).toEqual([
		"It exited with 1. (2 times)",
	]);
});

test("a case that did not run has the reason", () => {
	expect(summarize(chaos, [], "not permitted")).toMatchObject({
		verdict: "skipped",
		note: "not permitted",
		rounds: 0,
	});
});

const first: CaseSummary = {
	row: "the host is killed",
	name: "idle",
	protections: "none",
	promise: "kept",
	rounds: 40,
	leftovers: 0,
	wrongKills: 0,
	falseKills: 0,
	broken: [],
	times: { p50Ms: 20, p99Ms: 120, maxMs: 120 },
	verdict: "not met",
	note: "p99 above 100 ms",
};
const times = { p50Ms: 8, p99Ms: 9, maxMs: 9 };
const quiet: CaseSummary = { ...first, times, verdict: "met", note: "" };

test("counts add up, times are those of the last run", () => {
	expect(joinRuns([[first], [quiet]])).toEqual([{ ...quiet, rounds: 80 }]);
});

test("what was broken once stays broken", () => {
	const broken: CaseSummary = {
		...first,
		leftovers: 2,
		broken: ["Left: 7: sleep."],
		verdict: "broken",
		note: "",
	};
	const [joined] = joinRuns([[broken], [quiet]]);
	expect(joined).toMatchObject({
		leftovers: 2,
		broken: ["Left: 7: sleep."],
		verdict: "broken",
		times,
	});
});

test("a case that one of the runs skipped is that of the other", () => {
	const skipped: CaseSummary = {
		...first,
		rounds: 0,
		times: undefined,
		verdict: "skipped",
		note: "it was interrupted",
	};
	expect(joinRuns([[skipped], [quiet]])).toEqual([quiet]);
	expect(joinRuns([[quiet], [skipped]])).toEqual([quiet]);
});

test("other protections are another case, and the order is that of the first run", () => {
	const guarded: CaseSummary = { ...first, protections: "guard" };
	expect(joinRuns([[first, guarded], [guarded]])).toEqual([
		first,
		{ ...guarded, rounds: 80 },
	]);
});
