/** The machine on which a worker runs, where that is another one than its program's. */
export interface WorkerPlace {
	/** What its cluster calls it, for people. */
	readonly name: string;
	readonly address: string;
}

/** What a worker on another machine uses, as it was measured there last. */
export interface RemoteUsage {
	/** User and system time of all its processes since it was started, in milliseconds. */
	readonly cpuTimeMs: number;
	/** Resident memory of all its processes, in bytes. */
	readonly residentBytes: number;
}
