import type { BackCallWrapper } from "./connection.ts";
import type { ErrorCode } from "./error-codes.ts";
import type { SnakepitError } from "./errors.ts";
import type {
	CallOutcome,
	CallRef,
	InstrumentProblem,
	SnakepitEvent,
	WorkerRef,
} from "./events.ts";
import type { RunId } from "./identity.ts";
import type { LayerReport } from "./protection.ts";
import type { WorkerState } from "./run-and-worker-states.ts";

export type { InstrumentProblem } from "./events.ts";

/**
 * Follows pools from within, as telemetry does: receives every event, and takes part
 * where a call crosses from its caller to a worker. Given to `createPool` as
 * `instruments`; may follow several pools. If it throws, no call fails.
 */
export interface Instrument {
	/** Called once by each `createPool`, in its caller's asynchronous context, before anything of the pool happens. */
	attach(pool: InstrumentedPool): PoolInstrument;
	/** Says for `doctor` whether it can do its work in this program. It has ten seconds. */
	inspect?(): LayerReport | Promise<LayerReport>;
}

export interface InstrumentedPool {
	readonly name: string;
	/** The name of its adapter. */
	readonly adapter: string;
	/** Emits `telemetry.misconfigured`, for what keeps the instrument from its work. */
	readonly report: (problem: InstrumentProblem) => void;
}

/** Follows one pool. */
export interface PoolInstrument {
	/** Called with every event, those of the run included; with `measure`, without those that it stands for. */
	hear(event: SnakepitEvent): void;
	/** Stands for the events `call.accepted`, `call.dispatched`, `call.released` and `call.settled`, which cost an object each. */
	readonly measure?: CallMeasures | undefined;
	/** From now on the pool can be looked at, until `detach`. */
	watch?(pool: ObservedPool): void;
	/** A call is accepted. In the caller's asynchronous context; `undefined` when this call is not followed. */
	accept?(call: AcceptedCall): CallInstrument | UnfollowedCall | undefined;
	/**
	 * Runs work of the pool's own transport, such as a connection to a worker or a ping, so that nothing that observes the
	 * program takes it for the program's work. Runs it once, in the same turn, and returns its result.
	 */
	unobserved?<T>(run: () => T): T;
	/**
	 * The W3C context in which a worker or a job is started, as variables for its program, such as `TRACEPARENT`. Called in
	 * the turn of the start, after the event `worker.starting` or `job.accepted`. @param incarnation its id, if it is a job.
	 */
	environment?(incarnation: string): Readonly<Record<string, string>>;
	/** Nothing is left of the pool, or it could not be started: nothing is reported after this. */
	detach?(): void;
	/**
	 * The program is about to end by a signal, or has nothing left to do, and every pool is closed; or the pool could not be
	 * started, of which most programs end: sends what was observed. It has one second.
	 */
	flush?(): Promise<void>;
}

/** With these codes a worker is lost, and its calls with it; such calls can be retried. */
export const LOSS_CODES: readonly ErrorCode[] = [
	"WORKER_EXITED",
	"WORKER_HUNG",
	"WORKER_REPLACED",
	"COMPANION_LOST",
];

/** The codes with which calls usually fail. Counters by code have these series from the first reading on. */
export const USUAL_CODES: readonly ErrorCode[] = [
	...LOSS_CODES,
	"SESSION_LOST",
	"TOOL_FAILED",
	"CALL_TIMEOUT",
	"QUEUE_FULL",
	"QUEUE_TIMEOUT",
	"POOL_CLOSED",
	"RESTART_BUDGET_SPENT",
	"INVALID_ARGUMENTS",
	"TOOL_NOT_FOUND",
];

/** Measures the calls of one pool. Times are in milliseconds. `followed` is what `accept` of this instrument has returned. */
export interface CallMeasures {
	/** An attempt begins. */
	dispatched(
		command: string,
		waitedMs: number,
		followed?: CallInstrument | undefined,
	): void;
	/** An attempt has ended, and its slot on the worker is free. Not called for one that its worker did not begin. */
	released(
		command: string,
		ranMs: number,
		followed?: CallInstrument | undefined,
	): void;
	/** The caller has the call's result or error. @param code of its error. */
	settled(
		command: string,
		outcome: CallOutcome,
		code: ErrorCode | undefined,
		totalMs: number,
		followed?: CallInstrument | undefined,
	): void;
}

/** A pool as it is now. */
export interface ObservedPool {
	readonly name: string;
	readonly runId: RunId;
	look(): PoolLook;
	/** What the workers use now, children included. Reads the process table: milliseconds, for a sample every few seconds. */
	usage(): readonly WorkerUsage[];
}

export interface PoolLook {
	readonly workers: Readonly<Record<WorkerState, number>>;
	/** How many workers it may have, as last set by `resize`. */
	readonly size: { readonly min: number; readonly max: number };
	readonly waiting: number;
	/** How many calls may wait. */
	readonly queueLimit: number;
	readonly running: number;
	/** Of each command that runs, the attempt that has run longest. */
	readonly oldest: readonly RunningCommand[];
	/** Calls that have ended since the pool was created. */
	readonly settled: Readonly<Record<CallOutcome, number>>;
	readonly sessions: number;
	/** Of the run's ledger, which pools with one `dataDir` share. */
	readonly commits: number;
	readonly commitMs: number;
	/** Rows that are only in memory because the ledger could not be written. */
	readonly unwritten: number;
}

/** A command, and how long its oldest attempt has held its slot on a worker, in milliseconds. */
export interface RunningCommand {
	readonly command: string;
	readonly forMs: number;
}

export interface WorkerUsage extends WorkerRef {
	/** Resident memory of its process group, in bytes. */
	readonly residentBytes: number;
	/** User and system time of the living members of its process group, in milliseconds. */
	readonly cpuTimeMs: number;
}

/** A call as its caller made it. */
export interface AcceptedCall extends CallRef {
	readonly shape: "unary" | "stream" | "lease";
	/** Do not keep them: a call may have megabytes. */
	readonly args: unknown;
	readonly sessionId: string | undefined;
	/** What the caller gave as `traceContext`. */
	readonly traceContext: Readonly<Record<string, string>>;
}

/** A call that is not followed, and travels with these W3C headers besides those that its caller gave. */
export interface UnfollowedCall {
	readonly traceContext: Readonly<Record<string, string>>;
	readonly dispatched?: undefined;
}

/** Follows one call, from its acceptance to its settlement; `settled` comes once and last, but for the ends of attempts. */
export interface CallInstrument {
	/** The trace that the call is a span of, as 32 hexadecimal digits; `undefined` when it is not recorded. */
	readonly traceId?: string | undefined;
	/** No worker has room for it: it waits, at first or again. */
	queued(): void;
	/**
	 * The call is sent to a worker that still runs another one: returns the W3C headers that travel with it, before there
	 * is an attempt. `dispatched` is called when the answer before it has arrived. Absent: calls that this instrument
	 * follows are not prefetched.
	 */
	prefetched?(): Readonly<Record<string, string>>;
	/** An attempt begins on a worker. */
	dispatched(attempt: DispatchedAttempt): AttemptInstrument;
	/** An attempt failed, and the call is made again. */
	retried(error: SnakepitError): void;
	/**
	 * It has ended for its caller: with an answer, or with this error.
	 *
	 * @param args what `observe.args` returned of the arguments of a call that failed.
	 */
	settled(error: SnakepitError | undefined, args?: unknown): void;
}

export interface DispatchedAttempt extends WorkerRef {
	/** 1 for the first. */
	readonly attempt: number;
	/** Whether the call was sent before: then it travels with the headers of `prefetched`, not with those of the attempt. */
	readonly prefetched: boolean;
	readonly pid: number | undefined;
}

/** Follows one attempt, also when its caller is gone already. */
export interface AttemptInstrument {
	/** W3C headers that travel with the call, instead of those that its caller gave. */
	readonly traceContext: Readonly<Record<string, string>>;
	readonly backCall: BackCallWrapper;
	/** Runs what sends the call, in the attempt's context: for adapters that send each call as a request of its own. */
	sending?<T>(send: () => T): T;
	/** Nobody waits for it any more: the worker is asked to end it. */
	cancelled(reason: SnakepitError): void;
	/**
	 * The slot is free, or the worker is gone. An attempt that its worker did not begin has neither `error` nor `ran`, and
	 * another one with its number follows.
	 *
	 * @param ran as measured in the worker, if it was.
	 */
	released(error: SnakepitError | undefined, ran: CommandRun | undefined): void;
}

/** When a command ran. */
export interface CommandRun {
	/** How long ago it began, in milliseconds. */
	readonly beganAgoMs: number;
	/** How long it ran, in milliseconds. */
	readonly ranMs: number;
}
