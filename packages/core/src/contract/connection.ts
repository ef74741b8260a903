import type { AsyncResource } from "node:async_hooks";
import type { RunId } from "./identity.ts";

/** The value of {@link Connection.execute} for a call that was sent, but has certainly not begun and never will. */
export const RECALLED: unique symbol = Symbol.for("snakepit.recalled");

/** Takes prefetched calls: they wait in the worker until it has finished the one that it runs. */
export interface Prefetch {
	/** Whether this call may be prefetched: it must be small, and it must be possible to recall it. */
	admits(command: string, args: unknown): boolean;
	/**
	 * Recalls this call and those that were sent after it, synchronously and whatever the worker is doing; if this one
	 * is over already, the others. Returns the
	 * ids of those that have not begun and never will; their `execute` resolves to {@link RECALLED}. So does `execute` of
	 * any other call if the worker, or its shared memory after its death, shows that the call did not begin.
	 */
	recall(callId: string): ReadonlySet<string>;
}

/** The connection to one worker. */
export interface Connection<Client = unknown> extends AsyncDisposable {
	/** What `pool.use` passes to its tasks: the client object of a library that communicates with this worker. */
	readonly client?: Client | undefined;
	/** What the worker reported about itself, such as its version and capabilities. Shown in its `WorkerView`. */
	readonly facts?: Readonly<Record<string, unknown>> | undefined;
	/** The machine on which the worker runs, if that is not this one. Shown in its `WorkerView`, and recorded in the ledger. */
	readonly location?: WorkerLocation | undefined;
	/**
	 * For a worker on another machine: the latest measurement of what it uses there; `undefined` before the first one. Its
	 * processor time shows whether a silent worker is busy; its memory counts for `recycle.aboveResidentBytes`.
	 */
	usage?(): RemoteUsage | undefined;
	/**
	 * Present if the worker queues calls that are sent to it while it runs one, and begins each after it has sent the
	 * previous answer. Only with one call per worker.
	 */
	readonly prefetch?: Prefetch | undefined;
	/**
	 * Runs one command.
	 *
	 * The promise must settle only when the worker has finished with the call, even after an abort, because it frees the
	 * slot. After `options.signal` aborts, it should reject soon: the pool replaces a worker that does not finish within
	 * `calls.cancelGraceMs`.
	 *
	 * @throws InputError when the call itself is wrong; ToolError when the tool failed; CallAbortedError after an abort.
	 */
	execute(
		command: string,
		args: unknown,
		options: CallOptions,
	): Promise<unknown>;
	/**
	 * Runs one command that answers with a stream. Takes from the worker only what the consumer requested, plus a bounded
	 * window. Closing the iterator cancels the call; `return()` settles when the worker has finished with it. The value of
	 * the last step (`done: true`) is the stream's result, if the program has one.
	 */
	stream?(
		command: string,
		args: unknown,
		options: CallOptions,
	): AsyncIterable<unknown>;
	/** Pings the worker. If absent, the heartbeat only checks the process. */
	ping?(signal: AbortSignal): Promise<PingReply>;
	/** Notifies the worker that a session has ended. */
	endSession?(sessionId: string): void;
	/** The first rung of the stop ladder: asks the worker to exit by itself. */
	leave?(signal: AbortSignal): Promise<void>;
}

/** The answer to a ping. */
export interface PingReply {
	/** How many calls the worker believes it is running. */
	readonly callsRunning: number;
}

/** What the pool passes to an adapter with one call. Callers pass `ExecuteOptions`. */
export interface CallOptions {
	/** Names the call in events and logs. */
	readonly callId: string;
	readonly signal: AbortSignal;
	/**
	 * A cheaper form of `signal`: a listener of a signal costs more than the rest of a small call. Absent outside of a
	 * pool.
	 */
	readonly cancellation?: Cancellation | undefined;
	/**
	 * The asynchronous context of the caller, in which `execute` and `stream` are called. Use it for code that runs later
	 * for the call, such as its input, or a host function that the command calls.
	 */
	readonly context: Pick<AsyncResource, "runInAsyncScope">;
	/** The time left until the deadline, in milliseconds; `undefined` without one. */
	readonly timeoutMs: number | undefined;
	readonly sessionId: string | undefined;
	/**
	 * That session, for results that make calls of their own, such as a reference to an object in the worker. Absent
	 * outside of a pool.
	 */
	readonly session?: CallSession | undefined;
	/**
	 * Items that the command reads while it runs. An adapter that does not support them refuses the call: `InputError`,
	 * `NOT_OFFERED`.
	 */
	readonly input: AsyncIterable<unknown> | Iterable<unknown> | undefined;
	/**
	 * Call it with each progress report of the command; absent if the caller wants none. The pool drops reports that come
	 * too often, or after the end. The promise resolves when the pool would deliver another report immediately: request the
	 * newest report then, if the program can wait.
	 */
	readonly onProgress?: ((progress: CallProgress) => Promise<void>) | undefined;
	/** W3C trace context and baggage headers; empty without telemetry. */
	readonly traceContext: Readonly<Record<string, string>> & {
		readonly [NOT_SAMPLED]?: true;
	};
	/** Write what was measured in the worker here, before the call settles. Absent outside of a pool. */
	readonly measured?: MeasuredRun | undefined;
	/** Call it before the call settles, with how long ago the command began; absent if that is not needed. */
	readonly beganAgo?: ((ms: number) => void) | undefined;
	/**
	 * Runs the request of a call in its trace, so that what observes requests finds it there; absent without telemetry.
	 * Only for adapters that send each call as a request of its own.
	 */
	readonly sending?: SendingInTrace | undefined;
	/** Runs a host function that the command calls, in the command's trace; absent without telemetry. */
	readonly backCall?: BackCallWrapper | undefined;
}

/** Runs what sends a call in its trace. */
export interface SendingInTrace {
	inTrace<T>(send: () => T): T;
}

/** What a worker measured of a call. */
export interface MeasuredRun {
	/** How long the command ran, in milliseconds. */
	ranMs: number | undefined;
}

/** The session of a call. */
export interface CallSession {
	readonly id: string;
	readonly affinity: "hint" | "strict";
	/** Makes another call in the session. */
	execute(
		command: string,
		args: unknown,
		limits?: CallLimits,
	): Promise<unknown>;
	stream(
		command: string,
		args: unknown,
		limits?: CallLimits,
	): AsyncIterableIterator<unknown>;
}

/** Limits of a call that another call makes. */
export interface CallLimits {
	readonly signal?: AbortSignal | undefined;
	/** Deadline, the wait in the queue included. */
	readonly timeoutMs?: number | undefined;
}

/** Whether a call is cancelled, and why. */
export interface Cancellation {
	readonly isRequested: boolean;
	/** Set by the adapter when it has sent the call: called with the reason when the call is cancelled. */
	onRequested: ((reason: unknown) => void) | undefined;
}

/** A call from a command to a function of the host. */
export interface BackCall {
	readonly function: string;
	/** W3C trace context and baggage headers that the command sent; may be empty. */
	readonly traceContext: Readonly<Record<string, string>>;
}

/** Runs the function of a back-call and passes on its outcome. */
export type BackCallWrapper = <T>(
	backCall: BackCall,
	run: () => Promise<T>,
) => Promise<T>;

/** Progress that a command reports while it runs. */
export interface CallProgress {
	/** From 0 to 1; `undefined` where the command cannot say. */
	readonly fraction: number | undefined;
	/** What it is doing, for people; may be empty. */
	readonly message: string;
}

/**
 * Marks headers of a trace that is not recorded: a `traceparent` alone, with ids that are new each time it is read. An
 * adapter may send that in a bit, where its worker can make ids itself if they are asked for. Not enumerable: headers
 * that are made of these and others are usual ones.
 */
export const NOT_SAMPLED: unique symbol = Symbol.for("snakepit.not-sampled");

/** The machine on which a worker runs, if that is not its host's. */
export interface WorkerLocation {
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
	readonly location: WorkerLocation;
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
