import type { ProtectionName } from "../../programs/orders.ts";
import type { Stage } from "./stage.ts";

/** What one round found. */
export interface RoundOutcome {
	/** From the fault to the end of the last process that had to end, in milliseconds. */
	readonly goneMs?: number;
	/** Processes that had to end and did not. */
	readonly leftovers?: number;
	/** What survived, each in a few words. */
	readonly left?: readonly string[];
	/** Processes that were nobody's business here, and were ended. */
	readonly wrongKills?: number;
	/** Workers that were ended although their host lived. */
	readonly falseKills?: number;
	/** Promises beside these that were not kept, each a sentence. */
	readonly broken?: readonly string[];
}

/** Figures that are published, and shown as met or not met. Milliseconds. */
export interface TimeTarget {
	readonly p50Ms?: number;
	readonly p99Ms?: number;
	readonly maxMs?: number;
	/** Why a target is not met where it is known not to be. */
	readonly reason?: string;
}

/** One row of the results. */
export interface ChaosCase {
	/** The row of the table of promises that it belongs to. */
	readonly row: string;
	readonly name: string;
	readonly protections: readonly ProtectionName[];
	/** Whether nothing may survive here. What is not promised is measured and shown, and fails nothing. */
	readonly promise: "kept" | "none";
	/** Rounds of the full run. */
	readonly rounds: number;
	/** Rounds in the selection that runs with the tests; left out of it without. */
	readonly selected?: number;
	/** Rounds at the same time: where counts are what matters, not times. */
	readonly parallel?: number;
	readonly target?: TimeTarget;
	/** Whether its times are figures, for which it runs alone. Default: when they have a target. */
	readonly timed?: boolean;
	/** Most of it is waiting: it runs beside the others. */
	readonly waits?: boolean;
	/** Why it cannot run on this machine. */
	readonly unavailable?: () => string | undefined;
	/** One round: throws when it could not be brought about at all. */
	readonly round: (stage: Stage) => Promise<RoundOutcome>;
}
