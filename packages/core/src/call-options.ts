import type { AsyncResource } from "node:async_hooks";
import type { CallProgress } from "./call-progress.ts";
import type { NOT_SAMPLED } from "./not-sampled.ts";

/** What an adapter is given with one call. What a caller passes is `ExecuteOptions`. */
export interface CallOptions {
	/** Names the call in events and logs. */
	readonly callId: string;
	readonly signal: AbortSignal;
	/** The same as `signal`, for less: a listener of a signal costs more than the rest of a small call. Absent outside of a pool. */
	readonly cancellation?: Cancellation | undefined;
	/**
	 * The asynchronous context of the caller, in which `execute` and `stream` are called; for what runs later on behalf
	 * of the call, as its input or a function of this program that the command asks for.
	 */
	readonly context: Pick<AsyncResource, "runInAsyncScope">;
	/** What is left of the deadline, in milliseconds; `undefined` without one. */
	readonly timeoutMs: number | undefined;
	readonly sessionId: string | undefined;
	/** That session, for what arrives and makes calls of its own, as a reference to an object in the worker. Absent outside of a pool. */
	readonly session?: CallSession | undefined;
	/** Items that the command reads while it runs. An adapter that does not support them refuses the call: `InputError`, `NOT_OFFERED`. */
	readonly input: AsyncIterable<unknown> | Iterable<unknown> | undefined;
	/**
	 * To be called with each report of progress of the command; absent where the caller wants none. The pool drops what
	 * comes too often, and after the end. Resolves when it would deliver another report at once: a program that can be
	 * made to wait is asked for its newest one then.
	 */
	readonly onProgress?: ((progress: CallProgress) => Promise<void>) | undefined;
	/** W3C trace context and baggage headers; empty without telemetry. */
	readonly traceContext: Readonly<Record<string, string>> & {
		readonly [NOT_SAMPLED]?: true;
	};
	/** Takes what was measured in the worker; to be written before the call settles. Absent outside of a pool. */
	readonly measured?: MeasuredRun | undefined;
	/** To be called before the call settles, with how long ago the command began; absent where that is not needed. */
	readonly beganAgo?: ((ms: number) => void) | undefined;
	/** Runs what the command asks of this program while it runs, in the command's trace; absent without telemetry. */
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
	/** Makes another call in it, as its users do. */
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

/** When a call that follows from another one ends early. */
export interface CallLimits {
	readonly signal?: AbortSignal | undefined;
	/** Deadline, the wait in the queue included. */
	readonly timeoutMs?: number | undefined;
}

/** Whether a call shall end, and why. */
export interface Cancellation {
	readonly isRequested: boolean;
	/** Calls `action` with the reason when it is requested. One action per call. */
	whenRequested(action: (reason: unknown) => void): void;
}

/** A command asks this program to run one of its functions. */
export interface BackCall {
	readonly function: string;
	/** W3C trace context and baggage headers of where the command asks; empty when it sent none. */
	readonly traceContext: Readonly<Record<string, string>>;
}

/** Runs the function of a back-call and passes on its outcome. */
export type BackCallWrapper = <T>(
	backCall: BackCall,
	run: () => Promise<T>,
) => Promise<T>;
