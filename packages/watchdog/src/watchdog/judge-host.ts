/** What a watchdog knows of its host. */
export interface HostEvidence {
	/** The kernel closes the host's end at its death; a program can close it by mistake, or share it with a copy of itself. */
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
 * The closed pipe alone proves no death. One that is gone is dead, also while the pipe is open: a copy of the host that
 * native code has forked holds the other end of it.
 */
export function judgeHost({ pipe, runs, host }: HostEvidence): HostVerdict {
	if (pipe === "open" && host !== "gone") return "wait";
	if (runs === "none") return "leave";
	return host === "gone" || host === "exiting" ? "kill" : "look_again";
}
