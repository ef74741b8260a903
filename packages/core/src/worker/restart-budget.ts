/** Restarts that a pool still allows itself; see `start.maxRestarts`. */
export interface RestartBudget {
	/** When each restart within the window happened, oldest first, in milliseconds of the monotonic clock. */
	readonly spentAt: readonly number[];
}

export const FULL_BUDGET: RestartBudget = { spentAt: [] };

/** The budget's answer to one more restart. */
export type BudgetVerdict =
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
