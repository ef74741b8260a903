import { counted } from "../../contract/text.ts";

/** Whether a pool can do its work, for the probes of a supervisor. */
export interface PoolHealth {
	/** `false` only if a restart of the program would help: nothing in it will start a worker soon. */
	readonly live: boolean;
	/** Whether new calls should be sent here: a worker is warm, or starts on demand, and the queue has room. */
	readonly ready: boolean;
	/** Why it is not; empty if it is both. */
	readonly reasons: readonly HealthReason[];
}

/** Why a pool is not ready, or not live. */
export interface HealthReason {
	readonly code: HealthCode;
	/** The pool; `null` before there is one. */
	readonly pool: string | null;
	/** A sentence. It has nothing that a worker has printed, so it may be shown to anybody who may probe. */
	readonly message: string;
}

export type HealthCode =
	/** No worker is ready yet, and some are starting for the first time. */
	| "STARTING"
	/** No worker is ready after a failure; the pool starts one again. */
	| "NO_WORKER"
	/** No worker is ready, and the pool has used up its restarts (`start.maxRestarts`). Only this, and a failed `createPool`, make it not live. */
	| "RESTART_BUDGET_SPENT"
	/** As many calls wait as may (`queue.limit`). */
	| "QUEUE_FULL"
	/** `pool.pause()`: calls wait. */
	| "PAUSED"
	/** The pool closes or has closed. */
	| "POOL_CLOSED"
	/** The pool could not be created. */
	| "START_FAILED"
	/** There is no pool: the program, or a run of it, has none. */
	| "NO_POOL";

/** What the health of a pool is made of. */
export interface HealthFacts {
	readonly pool: string;
	readonly phase: "starting" | "open" | "paused" | "closing";
	readonly min: number;
	/** How many workers are ready, and how many are starting. */
	readonly ready: number;
	readonly starting: number;
	readonly waiting: number;
	readonly limit: number;
	/** Failed starts and short lives in a row. */
	readonly failuresInARow: number;
	readonly budget: { readonly max: number; readonly windowMs: number };
	/** The next start that waits for its time, and for what it waits. */
	readonly next: {
		readonly inMs: number;
		readonly after: "pause" | "budget";
	} | null;
	/** The code of the last failure of a worker. */
	readonly lastFailure: string | undefined;
}

/** Judges a pool. */
export function healthOf(facts: HealthFacts): PoolHealth {
	const { pool, phase, waiting, limit } = facts;
	const because = (code: HealthCode, what: string): HealthReason => ({
		...{ code, pool },
		message: `Pool ${pool} ${what}.`,
	});
	if (phase === "closing")
		return notReady([because("POOL_CLOSED", "is closing, or has closed")]);
	const reasons: HealthReason[] = [];
	const workers = withoutWorker(facts);
	if (workers !== undefined) reasons.push(because(...workers));
	if (phase === "paused")
		reasons.push(
			because(
				"PAUSED",
				`is paused, and ${counted(waiting, "call", "calls")} ${waiting === 1 ? "waits" : "wait"}`,
			),
		);
	if (waiting >= limit)
		reasons.push(
			because(
				"QUEUE_FULL",
				`has ${waiting} waiting calls, and may have ${limit} (queue.limit)`,
			),
		);
	return { ...notReady(reasons), ready: reasons.length === 0 };
}

function notReady(reasons: readonly HealthReason[]): PoolHealth {
	const isLost = reasons.some(
		({ code }) => code === "RESTART_BUDGET_SPENT" || code === "START_FAILED",
	);
	return { live: !isLost, ready: false, reasons };
}

/** Why no worker is warm; `undefined` if one is, or the first call starts one. */
function withoutWorker({
	ready,
	starting,
	min,
	failuresInARow,
	budget,
	next,
	lastFailure,
}: HealthFacts): readonly [HealthCode, string] | undefined {
	if (ready > 0) return undefined;
	const last =
		lastFailure === undefined ? "" : ` (last failure: ${lastFailure})`;
	const inS = next === null ? "" : ` in ${(next.inMs / 1_000).toFixed(1)} s`;
	if (next?.after === "budget" && starting === 0)
		return [
			"RESTART_BUDGET_SPENT",
			`has no worker${last}: it was allowed ${counted(budget.max, "restart", "restarts")} in ${budget.windowMs / 1_000} s (start.maxRestarts), and tries again${inS}`,
		];
	if (failuresInARow > 0)
		return [
			"NO_WORKER",
			`has no worker that is ready${last}; ${starting > 0 ? `${starting} ${starting === 1 ? "is" : "are"} starting` : `the next start is${inS || " under way"}`}`,
		];
	// With none wanted, the first call starts one.
	if (min === 0 && starting === 0) return undefined;
	return [
		"STARTING",
		`has no worker that is ready yet; ${starting} ${starting === 1 ? "is" : "are"} starting`,
	];
}

/** Of several pools together: each has to be well. */
export function togetherOf(all: readonly PoolHealth[]): PoolHealth {
	if (all.length === 0) return without("live", "NO_POOL", "There is no pool");
	return {
		live: all.every(({ live }) => live),
		ready: all.every(({ ready }) => ready),
		reasons: all.flatMap(({ reasons }) => reasons),
	};
}

/** The health where there is no pool to ask. */
export function without(
	life: "live" | "dead",
	code: HealthCode,
	what: string,
): PoolHealth {
	const reason: HealthReason = { code, pool: null, message: `${what}.` };
	return { live: life === "live", ready: false, reasons: [reason] };
}
