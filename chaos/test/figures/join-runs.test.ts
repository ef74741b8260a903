import { expect, test } from "vitest";
import { joinRuns } from "../../src/figures/join-runs.ts";
import type { CaseSummary } from "../../src/figures/summary.ts";

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
