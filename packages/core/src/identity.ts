/**
 * What makes a process this one and no other: a pid alone is reused.
 *
 * All fields are compared as text or number, never interpreted.
 */
export interface ProcessIdentity {
	/** The machine, as its operating system names itself. */
	readonly machineId: string;
	/** This boot of the machine. */
	readonly bootId: string;
	/** The pid namespace, `"0"` where the system has none. */
	readonly pidNamespace: string;
	readonly pid: number;
	/**
	 * When the process started: clock ticks since boot on Linux, elsewhere the
	 * start time that `ps` prints.
	 */
	readonly startTime: string;
}

/** How a recorded identity relates to what is seen now; see {@link compareIdentity}. */
export type IdentityVerdict =
	/** The very process that was recorded. */
	| "same"
	/** That process is over: the pid is free, or another process has it, or the machine was restarted. */
	| "gone"
	/** Not decidable from here: another machine, another pid namespace, or facts could not be read. */
	| "unknown";

/** What a look at one pid showed. */
export type Observation = ProcessIdentity | "gone" | "unknown";

/**
 * Decides whether the process that was recorded still lives.
 *
 * `self` is the identity of the process that looks; `observed` what it saw at
 * the recorded pid. Unknown is neither "gone" nor "ours": it must be reported
 * and left alone.
 */
export function compareIdentity(
	recorded: ProcessIdentity,
	self: ProcessIdentity,
	observed: Observation,
): IdentityVerdict {
	if (recorded.machineId !== self.machineId) return "unknown";
	if (recorded.bootId !== self.bootId) return "gone";
	if (recorded.pidNamespace !== self.pidNamespace) return "unknown";
	if (observed === "gone" || observed === "unknown") return observed;
	return observed.pid === recorded.pid &&
		observed.startTime === recorded.startTime
		? "same"
		: "gone";
}

/** Names a process among those of one boot and one pid namespace: its pid alone may be another's at the next look. */
export function processKey({
	pid,
	startTime,
}: Pick<ProcessIdentity, "pid" | "startTime">): string {
	return `${pid} ${startTime}`;
}

/** Whether two identities name the same process. */
export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
	return (
		a.pid === b.pid &&
		a.startTime === b.startTime &&
		a.pidNamespace === b.pidNamespace &&
		a.bootId === b.bootId &&
		a.machineId === b.machineId
	);
}
