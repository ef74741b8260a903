/** What a watchdog knows of its host. */
export interface HostEvidence {
	/** The host holds the other end. The kernel closes it at the host's death; a program can close it by mistake. */
	readonly pipe: "open" | "closed";
	/** Whether any run of the host is still to be protected. */
	readonly runs: "some" | "none";
	/** What the process table says of the host. */
	readonly host: HostCondition;
}

export type HostCondition =
	| "alive"
	/** The kernel is taking it down: no instruction of it runs any more. */
	| "exiting"
	| "gone"
	/** The process table cannot be read. */
	| "unknown";

export type HostVerdict =
	/** The host lives, or nothing says otherwise. */
	| "wait"
	/** The host may live, and nobody will tell of its end any more: it must be looked at again. */
	| "look_again"
	/** The host is dead and has left workers behind. */
	| "kill"
	/** There is nothing to protect, and there will not be. */
	| "leave";

/**
 * Decides what a watchdog does next.
 *
 * Nothing is killed on the word of the pipe alone, nor on that of the process
 * table: only both together are a proof.
 */
export function judgeHost({ pipe, runs, host }: HostEvidence): HostVerdict {
	if (pipe === "open") return "wait";
	if (runs === "none") return "leave";
	return host === "gone" || host === "exiting" ? "kill" : "look_again";
}
