/** The system's list of processes, as one operating system offers it. */
export interface ProcessTable {
	/** This boot of the machine. */
	readonly bootId: string;
	/** Of this process; `"0"` where the system has none. */
	readonly pidNamespace: string;
	/** Looks at one pid. */
	entry(pid: number): TableEntry | "gone" | "unknown";
	/** Everything that can be seen. */
	entries(): readonly TableEntry[];
	/** The values of `variables` in the environment that a process was started with; empty when it cannot be read. */
	environment(
		pid: number,
		variables: readonly string[],
	): ReadonlyMap<string, string>;
}

/** One process. */
export interface TableEntry {
	readonly pid: number;
	readonly parentPid: number;
	readonly groupId: number;
	/** As in `ProcessIdentity`. */
	readonly startTime: string;
	/** A zombie is dead: it only waits to be noticed. */
	readonly condition: "alive" | "zombie";
	readonly cpuTimeMs: number;
	readonly residentBytes: number;
	readonly name: string;
}
