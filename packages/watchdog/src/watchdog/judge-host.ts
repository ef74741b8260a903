/** What a watchdog knows of its host. */
export interface HostEvidence {
	/** The kernel closes the host's end at its death; a program can close it by mistake. */
	readonly pipe: "open" | "closed";
	/** Whether any run of the host is still to be protected. */
	readonly runs: "some" | "none";
	/** The state of the host in the process table. */
	readonly host: HostCondition;
}

export type HostCondition =
	| "alive"
	/** The kernel is taking it down; it executes nothing any more. */
	| "exiting"
	| "gone"
	/** The process table cannot be read. */
	| "unknown";

export type HostVerdict =
	/** The host is alive, or there is no evidence to the contrary. */
	| "wait"
	/** The host may be alive, and no event will report its end: look again later. */
	| "look_again"
	/** The host is dead and has left workers behind. */
	| "kill"
	/** There is nothing to protect, and there will not be. */
	| "leave";

/**
 * Decides what a watchdog does next.
 *
 * The closed pipe alone is not a proof of death, and neither is the process
 * table: only both together are.
 */
export function judgeHost({ pipe, runs, host }: HostEvidence): HostVerdict {
	if (pipe === "open") return "wait";
	if (runs === "none") return "leave";
	return host === "gone" || host === "exiting" ? "kill" : "look_again";
}
