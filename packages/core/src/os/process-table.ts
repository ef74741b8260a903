import type { RunId } from "../contract/identity.ts";
import type { ThreadFacts } from "../contract/world.ts";

/** The system's list of processes, as one operating system offers it. */
export interface ProcessTable {
	/** This boot of the machine. */
	readonly bootId: string;
	/** Of this process; `"0"` where the system has none. */
	readonly pidNamespace: string;
	/** Now, on the clock of {@link TableEntry.startedAt}; `undefined` where there is none. */
	moment(): number | undefined;
	/** Looks at one pid. */
	entry(pid: number): TableEntry | "gone" | "unknown";
	/** Everything that can be seen. */
	entries(): readonly TableEntry[];
	/** The threads of one process; empty when they cannot be read. */
	threads(pid: number): readonly ThreadFacts[];
	/** The pids of the living and dead children of one process, its threads' included; empty when they cannot be read. */
	children(pid: number): readonly number[];
	/** The values of `variables` in the environment that a process was started with; empty when it cannot be read. */
	environment(
		pid: number,
		variables: readonly string[],
	): ReadonlyMap<string, string>;
	/** Whether a process was stopped by a signal, or by what traces it. */
	halted(pid: number): "no" | "stopped" | "traced";
	/**
	 * Whether a process was started with the marker of a run or with its id as an argument, or is a guard.
	 * `"unknown"`: its environment cannot be read, is empty, or was overwritten.
	 */
	carries(pid: number, runId: RunId): "yes" | "no" | "unknown";
	/** Whether a process has a handler of its own for the signal of this number. */
	handles(pid: number, signal: number): "yes" | "no" | "unknown";
}

/** One process. */
export interface TableEntry {
	readonly pid: number;
	readonly parentPid: number;
	readonly groupId: number;
	/** `undefined` where the system does not report it. */
	readonly sessionId: number | undefined;
	/** As in `ProcessIdentity`. */
	readonly startTime: string;
	/** The start time as a number of ticks of {@link ProcessTable.moment}; `undefined` where there is none. */
	readonly startedAt: number | undefined;
	/**
	 * `"exiting"`: the kernel takes down all of its threads. A zombie is dead: it only
	 * waits to be noticed.
	 */
	readonly condition: "alive" | "exiting" | "zombie";
	readonly cpuTimeMs: number;
	readonly residentBytes: number;
	readonly name: string;
}
