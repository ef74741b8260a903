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
	 * @remedy The message names the option and its allowed values.
	 */
	readonly INVALID_OPTION: "no";
	/**
	 * No option has that name.
	 * @remedy The message names the most similar one.
	 */
	readonly UNKNOWN_OPTION: "no";
	/**
	 * No event has that type.
	 * @remedy The message names the most similar one.
	 */
	readonly UNKNOWN_EVENT: "no";
	/**
	 * This program already has a run open in the same `dataDir`, and that run has a different value for a run option.
	 * @remedy The message names the option and both values. Pass the same value, leave the option out, set it where the
	 * run is opened, or use another `dataDir`.
	 */
	readonly RUN_OPTION_CONFLICT: "no";
}

/** Codes of `QueueError`. */
export interface QueueErrorCodes {
	/**
	 * Too many calls are waiting, or too many sessions are open.
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
	 * @remedy Make calls before `close()`; `stop.drainMs` is how long calls may take to finish.
	 */
	readonly POOL_CLOSED: Ran;
}

/** Codes of `WorkerLostError`. */
export interface WorkerLostErrorCodes {
	/**
	 * The worker died while it ran the call.
	 * @remedy The message has its exit status and last lines of output. Set `retry` to repeat such calls.
	 */
	readonly WORKER_EXITED: "maybe";
	/**
	 * The worker stopped answering and was replaced.
	 * @remedy Its last lines of output include its stacks. `heartbeat` sets the limits.
	 */
	readonly WORKER_HUNG: "maybe";
	/**
	 * Another call on the same worker could not be cancelled, so the worker was replaced; or the worker exited before the
	 * call began; or it was restarted or forcibly recycled.
	 * @remedy See `calls.cancelGraceMs` and `callsPerWorker`.
	 */
	readonly WORKER_REPLACED: Ran;
	/**
	 * The companion process that the pool's workers depend on ended while the worker ran the call.
	 * @remedy The message has its exit status; the `companion.ended` events have details. Set `retry` to repeat such
	 * calls.
	 */
	readonly COMPANION_LOST: "maybe";
	/**
	 * The worker that held a strict session is gone.
	 * @remedy Open a new session and rebuild its state.
	 */
	readonly SESSION_LOST: Ran;
}

/** Codes of `JobError`. */
export interface JobErrorCodes {
	/**
	 * The program exited with a code that is not in `okCodes`, or was killed by a signal that Snakepit did not send.
	 * @remedy The message has its exit status and the last lines of its standard error; so do `exit` and `stderrTail`.
	 */
	readonly JOB_FAILED: "maybe";
	/**
	 * The program ran for longer than `timeoutMs` and was killed.
	 * @remedy Raise `timeoutMs`. Time in the queue does not count.
	 */
	readonly JOB_TIMEOUT: "maybe";
	/**
	 * The caller ended the job: its `signal` aborted, or the caller stopped reading its output early.
	 * @remedy The signal's reason is the `cause`.
	 */
	readonly JOB_ABORTED: Ran;
	/**
	 * The job's `input` failed, or contained something other than text and bytes. The program was killed, because it
	 * would have taken partial input for complete input.
	 * @remedy The input's error is the `cause`.
	 */
	readonly JOB_INPUT_FAILED: "maybe";
	/**
	 * The output, or one line of it, exceeds its limit.
	 * @remedy Raise `maxBytes`, or read the output in chunks: `for await (const chunk of job)`.
	 */
	readonly JOB_OUTPUT_TOO_LARGE: "maybe";
	/**
	 * The job's output has already been read, or `result()` has discarded it.
	 * @remedy Read it once, in one way, and start reading before you call `result()`.
	 */
	readonly JOB_OUTPUT_TAKEN: "maybe";
	/**
	 * Too many jobs are waiting.
	 * @remedy Start fewer at once, or raise `jobs.queueLimit` or `jobs.concurrency` of the run.
	 */
	readonly JOB_QUEUE_FULL: "no";
	/**
	 * The run was closed before the job, or while it waited or ran.
	 * @remedy Start jobs before `run.close()`; `drainMs` is how long jobs may take to finish.
	 */
	readonly JOB_RUN_CLOSED: Ran;
}

/** Codes of `InputError`. */
export interface InputErrorCodes {
	/**
	 * The worker has no such tool.
	 * @remedy The message lists its tools.
	 */
	readonly TOOL_NOT_FOUND: "no";
	/**
	 * The arguments, or an item of the input, do not match the tool's signature.
	 * @remedy `path` locates the value; the message says what is expected.
	 */
	readonly INVALID_ARGUMENTS: Ran;
	/**
	 * A value has no equivalent in the other language.
	 * @remedy `path` locates the value; see docs/values.md.
	 */
	readonly VALUE_NOT_TRANSFERABLE: Ran;
	/**
	 * The arguments, or an item of the input, exceed the maximum message size.
	 * @remedy Raise `maxMessageBytes`, or use a stream.
	 */
	readonly MESSAGE_TOO_LARGE: Ran;
	/**
	 * The result exceeds the maximum message size.
	 * @remedy Raise `maxMessageBytes`, or use a stream.
	 */
	readonly RESULT_TOO_LARGE: "maybe";
	/**
	 * The session was closed, or expired because it was unused for too long.
	 * @remedy Open a new one; `sessions.ttlMs` is the limit.
	 */
	readonly SESSION_CLOSED: "no";
	/**
	 * The handle does not belong to the call's session: it was released, or comes from another session.
	 * @remedy Use a handle only in its own session, and before you release it.
	 */
	readonly HANDLE_INVALID: Ran;
	/**
	 * A handle cannot be created, or it does not offer what was requested.
	 * @remedy The message says why: the adapter's option `handles` allows them, in a session with `affinity: "strict"`;
	 * `handles.limit` bounds their number, `handles.imports` the modules; names that begin with an underscore are never
	 * offered.
	 */
	readonly HANDLE_REFUSED: Ran;
	/**
	 * A streaming tool was called with `execute`, or an ordinary one with `stream`.
	 * @remedy Use `pool.stream` or `pool.execute`.
	 */
	readonly WRONG_SHAPE: "no";
	/**
	 * The pool has no worker with this id.
	 * @remedy The message lists the existing ids, as does `pool.workers()`.
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
	 * The caller's `signal` aborted the call.
	 * @remedy The signal's reason is the `cause`.
	 */
	readonly CALL_ABORTED: Ran;
}

/** The code of `CallTimeoutError`. */
export interface CallTimeoutErrorCodes {
	/**
	 * The call's deadline passed.
	 * @remedy Raise `timeoutMs`.
	 */
	readonly CALL_TIMEOUT: Ran;
}

/** The code of `ToolError`. */
export interface ToolErrorCodes {
	/**
	 * The tool raised an error.
	 * @remedy `remote` has the original type, message, traceback and cause.
	 */
	readonly TOOL_FAILED: "maybe";
}

/** The code of `ConnectionBrokenError`. */
export interface ConnectionBrokenErrorCodes {
	/** For adapters: the connection to a worker broke. Callers get `WORKER_EXITED`. */
	readonly CONNECTION_BROKEN: Ran;
}

/** Codes of `CloseError`. */
export interface CloseErrorCodes {
	/**
	 * A pool or a run was closed, and processes of it could not be ended.
	 * @remedy The error names them (`stillThere`). A process in uninterruptible sleep (state D) waits for a device or a network
	 * file system; one that changed its user can only be ended by that user or root. The next start looks again.
	 */
	readonly STILL_THERE: "maybe";
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
		CloseErrorCodes,
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
export type CloseErrorCode = keyof CloseErrorCodes;
