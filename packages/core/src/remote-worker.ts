import type { RunId } from "./run-id.ts";

/** The machine on which a worker runs, if that is not its host's. */
export interface WorkerPlace {
	/** Its name in the cluster, for people. */
	readonly name: string;
	readonly address: string;
	/** The worker's pid there, if its adapter knows it. The pid of the worker is that of its stand-in on this machine. */
	readonly pid?: number | undefined;
}

/** What a cluster reports about a run of another machine. */
export interface LocatedRun {
	readonly runId: RunId;
	/** The machine of its host. */
	readonly place: WorkerPlace;
	/** `"gone"`: no process of the run is in the cluster any more. */
	readonly owner: "alive" | "gone";
}

/** The latest measurement of what a worker on another machine uses. */
export interface RemoteUsage {
	/** User and system time of all its processes since it was started, in milliseconds. */
	readonly cpuTimeMs: number;
	/** Resident memory of all its processes, in bytes. */
	readonly residentBytes: number;
}
