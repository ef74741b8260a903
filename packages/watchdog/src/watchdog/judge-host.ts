/** What a watchdog knows of its host. */
export interface HostEvidence {
	/** The kernel closes the host's end at its death; a program can close it by mistake. */
	readonly pipe: "open" | "closed";
	/** Whether a run of the host still needs protection. */
	readonly runs: "some" | "none";
	/** The state of the host in the process table. */
	readonly host: HostCondition;
}

export type HostCondition =
	| "alive"
	/** The kernel is tearing it down; it executes nothing any more. */
	| "exiting"
	| "gone"
	/** The process table cannot be read. */
	| "unknown";

export type HostVerdict =
	/** The host is alive, or there is no evidence to the contrary. */
	| "wait"
	/** The host may be alive, and no event will report its end: check again later. */
	| "look_again"
	/** The host is dead and has left workers behind. */
	| "kill"
	/** There is nothing to protect, now or later. */
	| "leave";

/**
 * Decides what a watchdog does next.
 *
 * Neither the closed pipe nor the process table alone proves a death; both together do.
 */
export function judgeHost({ pipe, runs, host }: HostEvidence): HostVerdict {
	if (pipe === "open") return "wait";
	if (runs === "none") return "leave";
	return host === "gone" || host === "exiting" ? "kill" : "look_again";
}
