import type { ControlScope } from "./scopes.ts";

/** A run as it is at one moment. */
export interface RunSnapshot {
	readonly runId: string;
	readonly pid: number;
	/** The file name of the program. */
	readonly program: string;
	readonly dataDir: string;
	/** Milliseconds since the Unix epoch. */
	readonly startedAtMs: number;
	/** When this was read, in milliseconds since the Unix epoch. */
	readonly wallMs: number;
	readonly versions: Readonly<Record<string, string>>;
	/** The names of its protections. */
	readonly protections: readonly string[];
	/** What clients may do. */
	readonly scopes: readonly ControlScope[];
	readonly pools: readonly PoolSnapshot[];
}

export interface PoolSnapshot {
	readonly pool: string;
	readonly adapter: string;
	readonly phase: "starting" | "open" | "paused" | "closing";
	readonly size: { readonly min: number; readonly max: number };
	readonly callsPerWorker: number;
	readonly workers: readonly WorkerSnapshot[];
	/** How many workers were started again after a failure. */
	readonly restarts: number;
	readonly sessions: number;
	readonly calls: CallCounts;
	readonly queue: QueueSnapshot;
}

/** Totals since the pool was created; `waiting` and `running` are the current numbers. */
export interface CallCounts {
	readonly accepted: number;
	readonly waiting: number;
	readonly running: number;
	readonly succeeded: number;
	readonly failed: number;
	readonly aborted: number;
	readonly timed_out: number;
}

/** The calls that wait. Only the first 10,000 outstanding calls are examined: `counted` says how many of them wait. */
export interface QueueSnapshot {
	readonly waiting: number;
	readonly limit: number | null;
	readonly counted: number;
	/** How long the oldest has waited; `null` when none waits. */
	readonly oldestMs: number | null;
	/** Why they wait, in words; `null` when none does. */
	readonly why: string | null;
	/** Highest priority first. */
	readonly byPriority: readonly {
		readonly priority: number;
		readonly waiting: number;
	}[];
	/** Most calls first; at most 100 commands. */
	readonly byCommand: readonly {
		readonly command: string;
		readonly waiting: number;
	}[];
}

export interface WorkerSnapshot {
	/** Stable over incarnations. */
	readonly workerId: string;
	/** This one process. */
	readonly incarnation: string;
	/** `null` before it is spawned. */
	readonly pid: number | null;
	readonly state: "starting" | "ready" | "draining" | "stopping" | "exited";
	/** How long it has been ready, in milliseconds. */
	readonly readyMs: number;
	readonly callsTaken: number;
	/** The longest first; at most 100. */
	readonly running: readonly RunningCall[];
	/** `null` before it is ready, and without heartbeat. */
	readonly heartbeat: {
		readonly status: string;
		readonly silentMs: number;
		readonly missedInARow: number;
	} | null;
	/** The machine that it runs on, where that is another one. */
	readonly place: {
		readonly name: string;
		readonly address: string;
		readonly pid?: number | undefined;
	} | null;
	/** Details from its adapter. */
	readonly facts: Readonly<Record<string, unknown>>;
	/** The limits at which it is replaced; `null` means no limit. */
	readonly recycle: {
		readonly inMs: number | null;
		readonly inCalls: number | null;
		readonly aboveResidentBytes: number | null;
	};
	/** Of its process group, read every two seconds, or less often if a reading takes long; `null` until the first reading. */
	readonly usage: UsageSnapshot | null;
}

export interface RunningCall {
	readonly callId: string;
	readonly command: string;
	readonly forMs: number;
	readonly sessionId: string | null;
	/** Its caller has gone, and the worker has not finished it. */
	readonly cancelled: boolean;
	/** 1 for the first. */
	readonly attempt: number;
	/** How long it waited for this worker, in milliseconds. */
	readonly waitedMs: number;
	/** Its attempts that failed, in their order; at most the last 20. */
	readonly failedAttempts: readonly FailedAttempt[];
}

/** An attempt of a call that was retried. */
export interface FailedAttempt {
	readonly workerId: string;
	/** How long the call waited for that worker, in milliseconds. */
	readonly waitedMs: number;
	readonly ranMs: number;
	/** Of the error that ended it. */
	readonly code: string;
	/** The pause before the next attempt, in milliseconds. */
	readonly pauseMs: number;
}

export interface UsageSnapshot {
	readonly residentBytes: number;
	/** User and system time since the start, in milliseconds. */
	readonly cpuTimeMs: number;
	/** Processors in use since the last reading: 1 is one whole; `null` at the first. */
	readonly processors: number | null;
}
