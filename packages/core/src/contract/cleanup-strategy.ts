import type { RunId } from "./identity.ts";

/** How an orphan was found. */
export type FoundBy = "ledger" | "marker" | "group" | "descent";

/** A process whose host is dead, before it is ended. */
export interface FoundOrphan {
	/** The dead run that it belongs to. */
	readonly ofRun: RunId;
	readonly pid: number;
	/**
	 * `ledger`: a recorded worker; `group`: in such a worker's process group; `marker`: by its environment alone; `descent`:
	 * below a guard of the run that cannot act itself, or such a guard.
	 */
	readonly foundBy: FoundBy;
	/** Which worker it is or descends from; `undefined` when that is not known. */
	readonly incarnation: string | undefined;
	/** What was executed, from the ledger; `undefined` when it has no such row. */
	readonly fingerprint: string | undefined;
}

/**
 * Decides about each orphan of a dead run before it is ended: `"spare"` leaves it alone, and the next start asks again.
 * If the strategy throws, the event `listener.threw` reports it, and the orphan is reaped. If it does not answer within
 * 10 s, `listener.threw` reports that, and this orphan and all that it has not been asked about are spared.
 */
export type CleanupStrategy = (
	orphan: FoundOrphan,
) => "reap" | "spare" | Promise<"reap" | "spare">;
