import fc from "fast-check";
import { expect, test } from "vitest";
import {
	FULL_BUDGET,
	type RestartBudget,
	spendRestart,
} from "../../src/worker/restarts.ts";

const WINDOW_MS = 1_000;
/** Moments at which a restart is asked for, in order. */
const moments = fc
	.array(fc.nat(400), { maxLength: 60 })
	.map((gaps) => gaps.map((_, at) => sum(gaps.slice(0, at + 1))));
const sum = (numbers: readonly number[]): number =>
	numbers.reduce((total, each) => total + each, 0);

/** Asks at each moment, and returns those at which it was granted. */
function granted(asked: readonly number[], max: number): readonly number[] {
	let budget: RestartBudget = FULL_BUDGET;
	return asked.filter((nowMs) => {
		const verdict = spendRestart(budget, nowMs, max, WINDOW_MS);
		budget = verdict.budget;
		return verdict.kind === "granted";
	});
}

test("no window has more restarts than the budget, wherever it begins", () => {
	fc.assert(
		fc.property(moments, fc.nat(5), (asked, max) => {
			const restarts = granted(asked, max);
			for (const begin of restarts) {
				const within = restarts.filter(
					(at) => at >= begin && at < begin + WINDOW_MS,
				);
				expect(within.length).toBeLessThanOrEqual(max);
			}
		}),
	);
});

test("a restart is refused only when the window before it is full", () => {
	fc.assert(
		fc.property(moments, fc.nat(5), (asked, max) => {
			const restarts = granted(asked, max);
			for (const nowMs of asked.filter((at) => !restarts.includes(at))) {
				const before = restarts.filter(
					(at) => at <= nowMs && nowMs - at < WINDOW_MS,
				);
				expect(before.length).toBeGreaterThanOrEqual(max);
			}
		}),
	);
});

test("a refusal says when a restart will be granted: not a moment earlier", () => {
	fc.assert(
		fc.property(
			fc.array(fc.nat(WINDOW_MS - 1), { minLength: 1, maxLength: 5 }),
			(spent) => {
				const spentAt = [...spent].sort((a, b) => a - b);
				const nowMs = WINDOW_MS - 1;
				const refused = spendRestart(
					{ spentAt },
					nowMs,
					spentAt.length,
					WINDOW_MS,
				);
				if (refused.kind !== "spent") return expect.unreachable();
				const at = (ms: number) =>
					spendRestart(refused.budget, ms, spentAt.length, WINDOW_MS).kind;
				expect(refused.retryInMs).toBeGreaterThan(0);
				expect(at(nowMs + refused.retryInMs)).toBe("granted");
				expect(at(nowMs + refused.retryInMs - 1)).toBe("spent");
			},
		),
	);
});

test("a budget of none never grants a restart, and its wait is a whole window", () => {
	expect(spendRestart(FULL_BUDGET, 5, 0, WINDOW_MS)).toEqual({
		kind: "spent",
		budget: FULL_BUDGET,
		retryInMs: WINDOW_MS,
	});
});

test("what is older than the window is forgotten, so that rare crashes heal for ever", () => {
	const verdict = spendRestart({ spentAt: [0, 1, 999] }, 1_000, 3, WINDOW_MS);
	expect(verdict).toEqual({
		kind: "granted",
		budget: { spentAt: [1, 999, 1_000] },
	});
});

test("the budget that was handed in is left as it was", () => {
	const before: RestartBudget = { spentAt: Object.freeze([0]) };
	expect(spendRestart(before, 5_000, 1, WINDOW_MS).kind).toBe("granted");
	expect(before).toEqual({ spentAt: [0] });
});
