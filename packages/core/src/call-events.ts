import type { ErrorCode, Ran } from "./error-codes.ts";
import type { RemoteError } from "./errors.ts";
import type { WorkerRef } from "./worker-events.ts";

/** In every event about one call. */
export interface CallRef {
	readonly pool: string;
	readonly callId: string;
	readonly command: string;
}

/** How a call ended for its caller. */
export type CallOutcome = "succeeded" | "failed" | "aborted" | "timed_out";

/** One attempt of a call, when its call has ended. */
export interface AttemptDetails {
	readonly workerId: string;
	readonly incarnation: string;
	/** How long the call waited for a worker before this attempt, without pauses. */
	readonly waitedMs: number;
	/** How long the attempt ran, at most until the call ended. */
	readonly ranMs: number;
	/** The code of the error that ended it; `undefined` if it succeeded. */
	readonly code: ErrorCode | undefined;
	/** The pause before the next attempt; `undefined` for the last one. */
	readonly pauseMs: number | undefined;
}

/** Events of calls and of sessions. */
export type CallEvent =
	// A call: taken and settled, and within that each attempt on a worker.
	| (CallRef & {
			/** The pool accepted a call. */ readonly type: "call.accepted";
			readonly queued: number;
	  })
	| (CallRef &
			WorkerRef & {
				/**
				 * An attempt begins on a worker. For a call that was sent ahead, this is when the previous answer has arrived.
				 */
				readonly type: "call.dispatched";
				readonly attempt: number;
				readonly waitedMs: number;
			})
	| (CallRef &
			WorkerRef & {
				/** The attempt has ended and its place on the worker is free. */
				readonly type: "call.released";
				readonly attempt: number;
				readonly ranMs: number;
			})
	| (CallRef & {
			/** The call will be attempted again, after a pause. */
			readonly type: "call.retried";
			/** The attempt that failed. */
			readonly attempt: number;
			readonly because: ErrorCode;
			readonly pauseMs: number;
	  })
	| (CallRef & {
			/** The caller has the call's result or error. */
			readonly type: "call.settled";
			readonly outcome: CallOutcome;
			/** The code of its error. Like `message` and `ran`, `undefined` if the call succeeded. */
			readonly code: ErrorCode | undefined;
			readonly message: string | undefined;
			/** Whether it may have begun. */
			readonly ran: Ran | undefined;
			/** What a failed command reported, such as the error's type and traceback. */
			readonly remote: RemoteError | undefined;
			/** What `observe.args` returned of its arguments; `undefined` without it. */
			readonly args?: unknown;
			readonly attempts: number;
			/** Its last attempts, at most 20; empty if no worker took the call. */
			readonly attemptDetails: readonly AttemptDetails[];
			/** The trace that the call's span belongs to, or that its caller's `traceparent` names. */
			readonly traceId: string | undefined;
			readonly totalMs: number;
	  })
	// A session.
	| {
			/** A session was opened. */
			readonly type: "session.started";
			readonly pool: string;
			readonly sessionId: string;
	  }
	| {
			/** A session was closed, expired, or was lost with its worker. */
			readonly type: "session.ended";
			readonly pool: string;
			readonly sessionId: string;
			readonly reason: "closed" | "expired" | "lost";
	  };
