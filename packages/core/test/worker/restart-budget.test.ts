import fc from "fast-check";
import { expect, test } from "vitest";
import { Gate } from "../../src/deadline.ts";
import {
	backoffMs,
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

const pauses = fc.record({
	failures: fc.nat(200),
	firstMs: fc.nat(10_000),
	maxMs: fc.nat(100_000),
	fraction: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

test("the first restart is immediate", () => {
	fc.assert(
		fc.property(pauses, ({ firstMs, maxMs, fraction }) => {
			expect(backoffMs(0, firstMs, maxMs, fraction)).toBe(0);
			expect(backoffMs(1, firstMs, maxMs, fraction)).toBe(0);
		}),
	);
});

test("the pauses double up to their limit", () => {
	const full = [1, 2, 3, 4, 5, 6, 1_000].map((failures) =>
		backoffMs(failures, 200, 1_000, 1),
	);
	expect(full).toEqual([0, 200, 400, 800, 1_000, 1_000, 1_000]);
});

test("chance takes away up to half of a pause, never more, and adds nothing", () => {
	fc.assert(
		fc.property(pauses, ({ failures, firstMs, maxMs, fraction }) => {
			const full = backoffMs(failures, firstMs, maxMs, 1);
			const pause = backoffMs(failures, firstMs, maxMs, fraction);
			expect(pause).toBeLessThanOrEqual(full);
			expect(pause).toBeGreaterThanOrEqual(Math.floor(full / 2));
		}),
	);
});

test("a pause is a whole number of milliseconds, at most the limit, and never shorter after one more failure", () => {
	fc.assert(
		fc.property(pauses, ({ failures, firstMs, maxMs, fraction }) => {
			const pause = backoffMs(failures, firstMs, maxMs, fraction);
			expect(Number.isInteger(pause)).toBe(true);
			expect(pause).toBeLessThanOrEqual(maxMs);
			expect(
				backoffMs(failures + 1, firstMs, maxMs, fraction),
			).toBeGreaterThanOrEqual(pause);
		}),
	);
});

test("workers that failed together do not return together", () => {
	const returns = [0, 0.25, 0.5, 0.75].map((fraction) =>
		backoffMs(3, 1_000, 60_000, fraction),
	);
	expect(new Set(returns).size).toBe(returns.length);
});

/** Runs every microtask that is due. */
const settled = (): Promise<void> =>
	new Promise((resolve) => setImmediate(resolve));

test("no more than allowed are inside, and all come in, in the order they came", async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.integer({ min: 1, max: 4 }),
			fc.array(fc.nat(), { maxLength: 20 }),
			async (concurrency, choices) => {
				const gate = new Gate(concurrency);
				const entered: number[] = [];
				const inside: (() => void)[] = [];
				for (const comer of choices.keys()) {
					void gate.enter().then((leave) => {
						entered.push(comer);
						inside.push(leave);
					});
				}
				await settled();
				for (const [left, choice] of choices.entries()) {
					expect(inside).toHaveLength(
						Math.min(concurrency, choices.length - left),
					);
					inside.splice(choice % inside.length, 1)[0]?.();
					await settled();
				}
				expect(entered).toEqual([...choices.keys()]);
			},
		),
	);
});

test("a start that leaves twice makes room once", async () => {
	const gate = new Gate(1);
	const leave = await gate.enter();
	leave();
	leave();
	await gate.enter();
	let third = "waits";
	void gate.enter().then(() => {
		third = "entered";
	});
	await settled();
	expect(third).toBe("waits");
});
