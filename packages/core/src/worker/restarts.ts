/** A worker or a companion that was ready this long has proved itself: its end is no crash loop. */
export const PROVEN_MS = 10_000;
/** Without a worker or a companion, calls wait for so many failed starts in a row, and not for ever. */
export const MOST_FAILED_STARTS = 3;

/**
 * How long to wait before a slot is started again.
 *
 * @param failures how many starts or short lives in a row failed on this slot; the first restart is immediate.
 * @param fraction a number from 0 to 1: jitter, so that workers that failed together do not return together.
 */
export function backoffMs(
	failures: number,
	firstMs: number,
	maxMs: number,
	fraction: number,
): number {
	if (failures <= 1) return 0;
	const full = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 2, 30));
	return Math.round(full * (0.5 + fraction / 2));
}

/** Restarts that a pool still allows itself; see `start.maxRestarts`. */
export interface RestartBudget {
	/** When each restart within the window happened, oldest first, in milliseconds of the monotonic clock. */
	readonly spentAt: readonly number[];
}

export const FULL_BUDGET: RestartBudget = { spentAt: [] };

/** The budget's answer to one more restart. */
type BudgetVerdict =
	| { readonly kind: "granted"; readonly budget: RestartBudget }
	/** Nothing left; the next restart is possible in `retryInMs`. */
	| {
			readonly kind: "spent";
			readonly budget: RestartBudget;
			readonly retryInMs: number;
	  };

/** Takes one restart out of the budget, if there is one. */
export function spendRestart(
	budget: RestartBudget,
	nowMs: number,
	max: number,
	windowMs: number,
): BudgetVerdict {
	const recent = budget.spentAt.filter((at) => nowMs - at < windowMs);
	if (recent.length < max)
		return { kind: "granted", budget: { spentAt: [...recent, nowMs] } };
	const oldest = recent[0];
	return {
		kind: "spent",
		budget: { spentAt: recent },
		retryInMs: oldest === undefined ? windowMs : windowMs - (nowMs - oldest),
	};
}
