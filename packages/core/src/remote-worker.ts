import type { RunId } from "./run-id.ts";

/** The machine on which a worker runs, where that is another one than its program's. */
export interface WorkerPlace {
	/** What its cluster calls it, for people. */
	readonly name: string;
	readonly address: string;
}

/** What a cluster says of a run of another machine. */
export interface LocatedRun {
	readonly runId: RunId;
	/** The machine of its host. */
	readonly place: WorkerPlace;
	/** `"gone"`: nothing of it takes part in the cluster any more. */
	readonly owner: "alive" | "gone";
}

/** What a worker on another machine uses, as it was measured there last. */
export interface RemoteUsage {
	/** User and system time of all its processes since it was started, in milliseconds. */
	readonly cpuTimeMs: number;
	/** Resident memory of all its processes, in bytes. */
	readonly residentBytes: number;
}
