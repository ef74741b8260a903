import type {
	RegistryErrorCodes,
	StartErrorCodes,
} from "./start-error-codes.ts";

/**
 * Whether the work of a call may have begun: `"no"` means a retry is safe,
 * `"maybe"` that only a caller who knows the work is idempotent may retry.
 */
export type Ran = "no" | "maybe";

// Each member is a code: its comment has the meaning and the remedy, its type the values that `ran` can have.
// docs/reference/errors.md is extracted from here; the name of an interface names the class of error.

/** Codes of `OptionsError`. */
export interface OptionsErrorCodes {
	/**
	 * An option is out of range or has the wrong type.
	 * @remedy The message names the option and the values that it takes.
	 */
	readonly INVALID_OPTION: "no";
	/**
	 * There is no option of that name.
	 * @remedy The message names the most similar one.
	 */
	readonly UNKNOWN_OPTION: "no";
	/**
	 * There is no event of that type.
	 * @remedy The message names the most similar one.
	 */
	readonly UNKNOWN_EVENT: "no";
	/**
	 * This program has a run open in the same `dataDir`, with another value of an option of the run.
	 * @remedy The message names the option and both values. Pass the same value or leave it out, set it where the run is
	 * opened, or use another `dataDir`.
	 */
	readonly RUN_OPTION_CONFLICT: "no";
}

/** Codes of `QueueError`. */
export interface QueueErrorCodes {
	/**
	 * Too many calls wait, or too many sessions are open.
	 * @remedy Send fewer at once, or raise `queue.limit` or `size.max`.
	 */
	readonly QUEUE_FULL: "no";
	/**
	 * The call waited too long for a worker.
	 * @remedy Raise `queueTimeoutMs` or `size.max`.
	 */
	readonly QUEUE_TIMEOUT: Ran;
	/**
	 * The pool was closed before the call, or while it waited or ran.
	 * @remedy Make calls before `close()`; `stop.drainMs` is the time that calls get to finish.
	 */
	readonly POOL_CLOSED: Ran;
}

/** Codes of `WorkerLostError`. */
export interface WorkerLostErrorCodes {
	/**
	 * The worker died while it ran the call.
	 * @remedy The message has its exit and last lines of output; `idempotentRetries` repeats such calls.
	 */
	readonly WORKER_EXITED: "maybe";
	/**
	 * The worker stopped answering and was replaced.
	 * @remedy Its stacks are among its last lines of output; `heartbeat` has the limits.
	 */
	readonly WORKER_HUNG: "maybe";
	/**
	 * Another call on the same worker could not be cancelled, so the worker was replaced; or the worker left before
	 * the call; or it was restarted, or recycled by force.
	 * @remedy See `calls.cancelGraceMs` and `callsPerWorker`.
	 */
	readonly WORKER_REPLACED: Ran;
	/**
	 * The process that held a strict session is gone.
	 * @remedy Open a new session and build its state again.
	 */
	readonly SESSION_LOST: Ran;
}

/** Codes of `InputError`. */
export interface InputErrorCodes {
	/**
	 * The worker has no such tool.
	 * @remedy The message lists the tools that it has.
	 */
	readonly TOOL_NOT_FOUND: "no";
	/**
	 * The arguments, or an item of the input, do not fit the signature of the tool.
	 * @remedy `path` names the place, the message what is expected.
	 */
	readonly INVALID_ARGUMENTS: Ran;
	/**
	 * A value has no counterpart in the other language.
	 * @remedy `path` names the place; see docs/values.md.
	 */
	readonly VALUE_NOT_TRANSFERABLE: Ran;
	/**
	 * The arguments, or an item of the input, are larger than a message may be.
	 * @remedy Raise `maxMessageBytes`, or use a stream.
	 */
	readonly MESSAGE_TOO_LARGE: Ran;
	/**
	 * The result is larger than a message may be.
	 * @remedy Raise `maxMessageBytes`, or use a stream.
	 */
	readonly RESULT_TOO_LARGE: "maybe";
	/**
	 * The session was closed, or not used for too long.
	 * @remedy Open a new one; `sessions.ttlMs` is the limit.
	 */
	readonly SESSION_CLOSED: "no";
	/**
	 * A tool that streams was called for one result, or the reverse.
	 * @remedy Use `pool.stream` or `pool.execute`.
	 */
	readonly WRONG_SHAPE: "no";
	/**
	 * The pool has no worker of this id.
	 * @remedy The message lists the ids that there are; `pool.workers()` shows the workers.
	 */
	readonly WORKER_NOT_FOUND: "no";
	/**
	 * The adapter does not offer this.
	 * @remedy The message lists what it offers.
	 */
	readonly NOT_OFFERED: "no";
}

/** The code of `CallAbortedError`. */
export interface CallAbortedErrorCodes {
	/**
	 * The caller's own signal ended the call.
	 * @remedy The reason of the signal is the `cause`.
	 */
	readonly CALL_ABORTED: Ran;
}

/** The code of `CallTimeoutError`. */
export interface CallTimeoutErrorCodes {
	/**
	 * The deadline of the call passed.
	 * @remedy Raise `timeoutMs`.
	 */
	readonly CALL_TIMEOUT: Ran;
}

/** The code of `ToolError`. */
export interface ToolErrorCodes {
	/**
	 * The tool itself failed.
	 * @remedy `remote` has the type, message, traceback and cause in the tool's language.
	 */
	readonly TOOL_FAILED: "maybe";
}

/** The code of `ConnectionBrokenError`. */
export interface ConnectionBrokenErrorCodes {
	/** For adapters: the conversation with a worker broke. Callers get `WORKER_EXITED`. */
	readonly CONNECTION_BROKEN: Ran;
}

/** The code of `SnakepitError`. */
export interface SnakepitErrorCodes {
	/**
	 * A defect in Snakepit.
	 * @remedy Please report it.
	 */
	readonly IMPOSSIBLE_TRANSITION: Ran;
}

/** Every code of core. */
export interface ErrorCodes
	extends OptionsErrorCodes,
		StartErrorCodes,
		RegistryErrorCodes,
		QueueErrorCodes,
		WorkerLostErrorCodes,
		InputErrorCodes,
		CallAbortedErrorCodes,
		CallTimeoutErrorCodes,
		ToolErrorCodes,
		ConnectionBrokenErrorCodes,
		SnakepitErrorCodes {}

/** A code of core, or one that an adapter adds. */
export type ErrorCode = keyof ErrorCodes | (string & {});
export type OptionsErrorCode = keyof OptionsErrorCodes;
export type StartErrorCode = keyof StartErrorCodes;
export type RegistryErrorCode = keyof RegistryErrorCodes;
export type QueueErrorCode = keyof QueueErrorCodes;
export type WorkerLostErrorCode = keyof WorkerLostErrorCodes;
export type InputErrorCode = keyof InputErrorCodes;
