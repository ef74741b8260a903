import type { AsyncResource } from "node:async_hooks";
import type { CallProgress } from "./call-progress.ts";
import type { NOT_SAMPLED } from "./not-sampled.ts";

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
	 * too often, or after the end. The promise resolves when the pool would deliver another report at once: request the
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
	/** Runs a host function that the command calls, in the command's trace; absent without telemetry. */
	readonly backCall?: BackCallWrapper | undefined;
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
	/** Calls `action` with the reason when the call is cancelled. One action per call. */
	whenRequested(action: (reason: unknown) => void): void;
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
