import { expect, test } from "vitest";
import { summarize, summarizeTimes } from "../../src/figures/summary.ts";
import type { ChaosCase, RoundOutcome } from "../../src/harness/chaos-case.ts";

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

test("a round in which something survived has no time", () => {
	const { times } = judge([{ goneMs: 5_000, leftovers: 1 }, { goneMs: 3 }]);
	expect(times).toEqual({ p50Ms: 3, p99Ms: 3, maxMs: 3 });
});

test("a sentence that is said often is counted", () => {
	const said = { broken: ["It exited with 1."] };
	expect(judge([said, {}, said]).broken).toEqual([
		"It exited with 1. (2 times)",
	]);
});

test("what did not run says why", () => {
	expect(summarize(chaos, [], "not permitted")).toMatchObject({
		verdict: "skipped",
		note: "not permitted",
		rounds: 0,
	});
});
