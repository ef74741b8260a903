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
	 * @remedy The message has its exit and last lines of output; `retry` repeats such calls.
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
	 * The companion of the pool, on which its workers depend, ended while the worker ran the call.
	 * @remedy The message has its exit; look at the events `companion.ended`. `retry` repeats such calls.
	 */
	readonly COMPANION_LOST: "maybe";
	/**
	 * The process that held a strict session is gone.
	 * @remedy Open a new session and build its state again.
	 */
	readonly SESSION_LOST: Ran;
}

/** Codes of `JobError`. */
export interface JobErrorCodes {
	/**
	 * The program ended with a code that is not in `okCodes`, or by a signal that Snakepit did not send.
	 * @remedy The message has its exit and the last lines of its standard error, as have `exit` and `stderrTail`.
	 */
	readonly JOB_FAILED: "maybe";
	/**
	 * The program ran for longer than `timeoutMs`, and was ended.
	 * @remedy Raise `timeoutMs`. It does not count the wait for a turn.
	 */
	readonly JOB_TIMEOUT: "maybe";
	/**
	 * The job was ended by its caller: by its `signal`, or because its output was left before its end.
	 * @remedy The reason of the signal is the `cause`.
	 */
	readonly JOB_ABORTED: Ran;
	/**
	 * The `input` of the job failed, or had something other than text and bytes in it. The program was ended: it would
	 * have taken what it got for all.
	 * @remedy The error of the input is the `cause`.
	 */
	readonly JOB_INPUT_FAILED: "maybe";
	/**
	 * The output, or one line of it, is longer than it may be.
	 * @remedy Raise `maxBytes`, or read the output piece by piece: `for await (const chunk of job)`.
	 */
	readonly JOB_OUTPUT_TOO_LARGE: "maybe";
	/**
	 * The output of the job is read already, or discarded by `result()`.
	 * @remedy Read it once and in one way, and begin to read before you call `result()`.
	 */
	readonly JOB_OUTPUT_TAKEN: "maybe";
	/**
	 * Too many jobs wait.
	 * @remedy Start fewer at once, or raise `jobs.queueLimit` or `jobs.concurrency` of the run.
	 */
	readonly JOB_QUEUE_FULL: "no";
	/**
	 * The run was closed before the job, or while it waited or ran.
	 * @remedy Make jobs before `run.close()`; `drainMs` is the time that jobs get to finish.
	 */
	readonly JOB_RUN_CLOSED: Ran;
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
	 * A handle is not one of the session of the call: it was released, or is from another session.
	 * @remedy Use a handle in the session that it is from, and before it is released.
	 */
	readonly HANDLE_INVALID: Ran;
	/**
	 * No handle can be given, or it does not offer what was asked of it.
	 * @remedy The message says why: the adapter's option `handles` allows them, in a session with `affinity: "strict"`;
	 * `handles.limit` bounds their number, `handles.imports` the modules; names that begin with an underscore are never offered.
	 */
	readonly HANDLE_REFUSED: Ran;
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
		JobErrorCodes,
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
export type JobErrorCode = keyof JobErrorCodes;
export type InputErrorCode = keyof InputErrorCodes;
