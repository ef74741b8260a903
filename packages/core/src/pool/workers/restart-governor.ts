import { counted } from "../../counted.ts";
import { StartError } from "../../errors.ts";
import type { SnakepitEvent } from "../../events.ts";
import type { ResolvedOptions } from "../../options.ts";
import {
	FULL_BUDGET,
	type RestartBudget,
	spendRestart,
} from "../../worker/restart-budget.ts";
import type { Clock, Timer } from "../../world.ts";

export interface RestartGovernorSetting {
	readonly pool: string;
	readonly options: ResolvedOptions["start"];
	readonly clock: Clock;
	readonly emit: (event: SnakepitEvent) => void;
	/** The budget was spent, and allows a restart again. */
	readonly onAllowance: () => void;
}

/** Allows restarts within the budget, and reports when there are none left. */
export class RestartGovernor {
	readonly #setting: RestartGovernorSetting;
	#budget: RestartBudget = FULL_BUDGET;
	#granted = 0;
	#timer: Timer | undefined;

	constructor(setting: RestartGovernorSetting) {
		this.#setting = setting;
	}

	/** How many restarts were granted in all. */
	get granted(): number {
		return this.#granted;
	}

	/** Takes one restart; returns why not when there is none left. */
	take(): StartError | undefined {
		const { clock, options, emit, pool } = this.#setting;
		const { maxRestarts, restartWindowMs } = options;
		const verdict = spendRestart(
			this.#budget,
			clock.now(),
			maxRestarts,
			restartWindowMs,
		);
		this.#budget = verdict.budget;
		if (verdict.kind === "granted") {
			this.#granted++;
			return undefined;
		}
		if (this.#timer === undefined) {
			this.#timer = clock.after(verdict.retryInMs, () => {
				this.#timer = undefined;
				this.#setting.onAllowance();
			});
			emit({
				type: "pool.restart_budget_spent",
				wallMs: clock.wall(),
				pool,
				restarts: maxRestarts,
				windowMs: restartWindowMs,
			});
		}
		return new StartError({
			code: "RESTART_BUDGET_SPENT",
			ran: "no",
			message: `Pool ${pool} has no workers left: they were restarted ${counted(maxRestarts, "time", "times")} within ${restartWindowMs} ms (start.maxRestarts) and ended again. The next try is in ${Math.ceil(verdict.retryInMs)} ms.`,
		});
	}

	/** Grants the whole budget again. */
	clear(): void {
		this.#budget = FULL_BUDGET;
		this.stop();
	}

	stop(): void {
		this.#timer?.cancel();
		this.#timer = undefined;
	}
}
