/** What a client may do: read the state and events, read what workers print, act on pools, make calls. */
export type ControlScope = "read" | "logs" | "act" | "call";

export const SCOPES: readonly ControlScope[] = ["read", "logs", "act", "call"];

/** The default: a client may read, and change nothing. */
export const DEFAULT_SCOPES: readonly ControlScope[] = ["read", "logs"];

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
	/**
	 * Records of the ledger that are only in memory, because its files cannot be written. 0 while they only wait for their
	 * turn, as when another process held the file for a moment.
	 */
	readonly unwritten: number;
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
	readonly starts: StartsSnapshot;
	/** The last start that failed or the last end that nobody wanted; `null` when there was none. */
	readonly lastFailure: WorkerFailure | null;
	/**
	 * When workers failed, in milliseconds since the Unix epoch: the last 20 times, oldest first. What followed within ten
	 * seconds is left out.
	 */
	readonly failureTimes: readonly number[];
	readonly sessions: number;
	readonly calls: CallCounts;
	readonly recentCalls: RecentCallsSnapshot;
	readonly queue: QueueSnapshot;
	readonly health: HealthSnapshot;
}

/** Whether a pool can do its work; see `pool.health()` of core. */
export interface HealthSnapshot {
	/** `false` only if a restart of the program would help. */
	readonly live: boolean;
	/** Whether new calls should be sent to it. */
	readonly ready: boolean;
	/** Why not. */
	readonly reasons: readonly {
		readonly code: string;
		readonly pool: string | null;
		readonly message: string;
	}[];
}

/** How a pool starts workers again that failed. */
export interface StartsSnapshot {
	/** Failed starts and short lives in a row: of the worker that has most. */
	readonly failuresInARow: number;
	/** Restarts within `windowMs`, of which a pool allows itself `max`. */
	readonly budget: {
		readonly spent: number;
		readonly max: number;
		readonly windowMs: number;
	};
	/** The next start that waits for its time; `null` when none waits. */
	readonly next: {
		readonly inMs: number;
		/** `"pause"`: the pause after a failure. `"budget"`: the whole budget is spent. */
		readonly after: "pause" | "budget";
	} | null;
}

/** The failure of one worker. */
export interface WorkerFailure {
	/** Milliseconds since the Unix epoch. */
	readonly wallMs: number;
	readonly workerId: string;
	/** Of the error of its start; of an end, the code of the error that its calls get. */
	readonly code: string;
	/** What happened to it, and the line of its output that tells most about it: one line, which begins with its id. */
	readonly cause: string;
	/** The last lines of its output, at most 20. */
	readonly lines: readonly string[];
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

/** The calls that ended lately, without those that were aborted or that a full queue refused. */
export interface RecentCallsSnapshot {
	/** How far back they are counted. */
	readonly windowMs: number;
	readonly ended: number;
	/** Those of them that failed or timed out. */
	readonly failed: number;
	/** The last of these; `null` when there was none. */
	readonly last: {
		readonly command: string;
		readonly code: string;
		readonly message: string;
	} | null;
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
	readonly location: {
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
	/** What the program's `observe.args` returned of its arguments; of much, a part. Absent without it. */
	readonly args?: unknown;
	/**
	 * How long calls of its command ran that ended by themselves; `null` where that says nothing: of a lease, or a stream
	 * of a new command.
	 */
	readonly usual: {
		/** How many are remembered: the last 1,000 at most. */
		readonly calls: number;
		/** How long the longest of them ran, in milliseconds. */
		readonly longestMs: number;
	} | null;
	/** How long ago it reported its progress last, in milliseconds; `null` if it has not, or its caller wants no reports. */
	readonly reportedMs: number | null;
	readonly sessionId: string | null;
	/** Its caller has gone, and the worker has not finished it. */
	readonly cancelled: boolean;
	/** 1 for the first; 0 for one that waits behind another call of its worker. */
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

/** A call that failed or timed out, as the ledger of the run keeps it. What is not known, or not recorded, is absent. */
export interface FailedCall {
	/** When its caller got the error, in milliseconds since the Unix epoch. */
	readonly wallMs: number;
	readonly pool: string;
	/** Unique within its pool. */
	readonly callId: string;
	readonly command?: string | undefined;
	readonly outcome: "failed" | "timed_out";
	/** The code of its error. */
	readonly code: string;
	/** Of a long one, the beginning and the end. */
	readonly message?: string | undefined;
	/** Whether it may have begun. */
	readonly ran: "no" | "maybe";
	/** As the tool's language prints it; of a long one, the beginning and the end. */
	readonly traceback?: string | undefined;
	/** What the program's `observe.args` returned of its arguments; of much, a part. */
	readonly args?: unknown;
	/** How many attempts there were; 0 if no worker took it. */
	readonly attempts: number;
	/** The worker of its last attempt. */
	readonly workerId?: string | undefined;
	readonly incarnation?: string | undefined;
	/** How long it waited for workers, in milliseconds. */
	readonly waitedMs: number;
	/** How long its attempts ran together, in milliseconds. */
	readonly ranMs: number;
	/** From acceptance to settlement, in milliseconds. */
	readonly totalMs: number;
	readonly traceId?: string | undefined;
	/**
	 * How many more calls of its pool that failed alike, by command and code, are not kept: those that followed within a
	 * second, and earlier ones that made room.
	 */
	readonly alike: number;
}

/** Which failed calls a client wants. */
export interface FailedCallFilter {
	readonly pool: string | undefined;
	readonly command: string | undefined;
	/** The code of the error. */
	readonly code: string | undefined;
	/** Only those that failed at this time or later, in milliseconds since the Unix epoch. */
	readonly sinceMs: number | undefined;
}

/** The view of a run that the server serves. Core implements it. */
export interface ControlledRun {
	/** Reads the current state of the run. In it, `usage` of workers and `why` calls wait are `null`: the server fills them in. */
	look(): RunSnapshot;
	/** What each worker's process group uses, by incarnation. Reads the process table: milliseconds. */
	usage(): ReadonlyMap<
		string,
		Pick<UsageSnapshot, "residentBytes" | "cpuTimeMs">
	>;
	/**
	 * Calls a listener with every event of a kind, until the returned function is called. Of a call, `"events"` contains
	 * only its end.
	 *
	 * @param meter is called at the end of each call, before its event; if it returns `false`, the event is not created.
	 */
	subscribe(
		kind: "events" | "logs",
		listener: (event: ControlledEvent) => void,
		meter?: CallMeter,
	): () => void;
	/** What workers printed and logged last: those events of `"logs"` that are kept, oldest first. */
	backlog(): LogBacklog;
	/** Which calls failed, as far as the ledger of the run keeps them, oldest first. */
	failedCalls(): readonly FailedCall[];
	/** `undefined` when there is none of that name. */
	pool(name: string): ControlledPool | undefined;
	/** Who a client is, for the run's records: what it says, with what can be checked of that. */
	clientName(said: SaidClient): string;
	/** Records who asked for what, as an event of the run. */
	record(request: RecordedRequest): void;
}

/** The last lines of every worker, as many as are kept. */
export interface LogBacklog {
	readonly events: readonly ControlledEvent[];
	/** How many lines of each worker are not kept any more; those of which none is missing are left out. */
	readonly dropped: ReadonlyMap<string, number>;
}

/** Counts a call that has ended, and returns whether its event is wanted. */
export type CallMeter = (
	pool: string,
	command: string,
	outcome: string,
	/** From acceptance to settlement. */
	totalMs: number,
) => boolean;

/** What happened in the run. */
export interface ControlledEvent {
	readonly type: string;
	/** Milliseconds since the Unix epoch. */
	readonly wallMs: number;
	readonly [field: string]: unknown;
}

/** What a client says of itself. */
export interface SaidClient {
	readonly name: string;
	/** Its process; `undefined` if it does not say. */
	readonly pid: number | undefined;
}

export interface RecordedRequest {
	readonly pool: string;
	/** The act, or `call`. */
	readonly act: string;
	/** The worker it is about, or the command. */
	readonly target: string | undefined;
	/** Who asked: {@link ControlledRun.clientName}. */
	readonly by: string;
}

/** What a client may ask of a pool. */
export const POOL_ACTS = [
	"recycle",
	"restart",
	"pause",
	"resume",
	"resize",
	"drain",
	"kill",
] as const;

export type PoolAct = (typeof POOL_ACTS)[number];

/** One pool, as clients control it. Its errors have a `code` and a message for people. */
export interface ControlledPool {
	/**
	 * Carries out an act; resolves when it is done.
	 *
	 * @param parameters as the client sent them: the pool checks them.
	 */
	act(act: PoolAct, parameters: ActParameters, by: string): Promise<ActOutcome>;
	/** Runs one command, and returns its result; of a stream, at most a thousand items, then what it returns. */
	call(call: CallParameters): Promise<unknown>;
	/** The commands of its workers; `undefined` when the adapter does not know them. */
	tools(signal: AbortSignal): Promise<readonly ToolSnapshot[]> | undefined;
	/** Has a worker write the stacks of its threads, and go on. @param worker its id, or its incarnation. */
	stacks(worker: string): Promise<StacksSnapshot>;
}

/** Where the threads of a worker are. */
export interface StacksSnapshot {
	readonly pool: string;
	readonly workerId: string;
	readonly incarnation: string;
	readonly pid: number | null;
	/** Milliseconds since the Unix epoch. */
	readonly wallMs: number;
	/**
	 * `"asked"`: the program wrote them itself, at a moment when nothing changed them. `"forced"`: nothing in the program
	 * reacted, so the handler of a signal wrote them.
	 */
	readonly how: "asked" | "forced";
	/** As the program wrote them. */
	readonly lines: readonly string[];
	/** What it ran at that moment. */
	readonly running: readonly RunningCall[];
}

export interface ActParameters {
	/** For `recycle` and `restart`: the id of a worker; for `recycle` also `"all"`. */
	readonly worker?: unknown;
	/** For `recycle`: `"gentle"` or `"forced"`. */
	readonly manner?: unknown;
	/** For `resize`. */
	readonly min?: unknown;
	readonly max?: unknown;
	/** For `drain`: how long calls have to end, in milliseconds. */
	readonly drainMs?: unknown;
}

/** What an act did, beyond what it is named for. */
export interface ActOutcome {
	/** Of `drain` and `kill`: the calls that had not ended, and have failed. */
	readonly cut?: CutCalls | undefined;
}

/** Calls that the end of their pool has ended. */
export interface CutCalls {
	readonly count: number;
	/** The first that were accepted; at most 100. */
	readonly calls: readonly CutCall[];
}

export interface CutCall {
	readonly callId: string;
	readonly command: string;
	/** `"waiting"`: its work had not begun. */
	readonly was: "running" | "waiting";
	/** Since it was accepted, in milliseconds. */
	readonly forMs: number;
	/** The worker that ran it; `null` for one that waited. */
	readonly workerId: string | null;
}

export interface CallParameters {
	readonly command: string;
	readonly args: unknown;
	readonly timeoutMs: number | undefined;
	/** Aborts when the client is gone. */
	readonly signal: AbortSignal;
}

export interface ToolSnapshot {
	readonly name: string;
	readonly description: string;
	/** JSON Schema of the arguments. */
	readonly argumentsSchema: unknown;
	/** Whether it answers with a stream; absent if the adapter does not know. */
	readonly shape?: "unary" | "stream" | undefined;
	/** How many calls a worker runs together as a batch; absent if it does not batch them. */
	readonly batchMax?: number | undefined;
}

/** The program's clock. Its timers do not keep the program running. */
export interface ControlClock {
	/** Milliseconds on a monotonic clock. */
	now(): number;
	after(ms: number, action: () => void): { cancel(): void };
}
