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
	/**
	 * The worker did not write its stacks.
	 * @remedy The message says why: it is stopped or has ended, is not far enough in its start, or something in it handles
	 * the signal.
	 */
	readonly STACKS_UNAVAILABLE: "no";
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

// What can go wrong before a call is made. As in error-codes.ts, the comment of a code is its entry in the reference.

/** Codes of `StartError` that core uses; an adapter adds its own. */
export interface StartErrorCodes {
	/**
	 * Pools cannot be started on this system (Windows).
	 * @remedy Use Linux or macOS; on Windows, WSL.
	 */
	readonly PLATFORM_UNSUPPORTED: "no";
	/**
	 * Node is older than 22.
	 * @remedy Use a current Node.
	 */
	readonly NODE_TOO_OLD: "no";
	/**
	 * The program was started with `--permission`, Node's permission model, without a permission that pools need.
	 * @remedy Add the flags that the message names.
	 */
	readonly PERMISSION_MISSING: "no";
	/**
	 * The directory for sockets is a link, belongs to another user, or can be written by others.
	 * @remedy Fix its permissions, or set `XDG_RUNTIME_DIR`.
	 */
	readonly RUNTIME_DIRECTORY_UNSAFE: "no";
	/**
	 * The directory for sockets and scratch files is full or read-only, or the system refuses to listen in it.
	 * @remedy Follow the message, or set `XDG_RUNTIME_DIR`.
	 */
	readonly RUNTIME_DIRECTORY_UNWRITABLE: "no";
	/**
	 * This program, or the whole system, has reached its limit of open files (`EMFILE`, `ENFILE`).
	 * @remedy Raise `ulimit -n`, or close files that the program holds open.
	 */
	readonly OUT_OF_DESCRIPTORS: "no";
	/**
	 * The path of a socket would exceed the system's limit of about 100 bytes.
	 * @remedy Set `XDG_RUNTIME_DIR` to a shorter path.
	 */
	readonly SOCKET_PATH_TOO_LONG: "no";
	/**
	 * The system could not start the program.
	 * @remedy The message has the system's reason.
	 */
	readonly SPAWN_FAILED: "no";
	/**
	 * The adapter requests descriptors that a worker of a preloaded parent cannot have, or of a run with `guard: "required"`:
	 * a guard provides streams numbered 3 to 6.
	 * @remedy Request those, leave `guard` out, or start the workers without `preload`.
	 */
	readonly DESCRIPTORS_UNSUPPORTED: "no";
	/**
	 * The worker exited, or closed its control channel, before it was ready.
	 * @remedy The message has its exit status and last lines of output.
	 */
	readonly WORKER_EXITED_EARLY: "no";
	/**
	 * `run.createPool()` was called after `run.close()`.
	 * @remedy Create pools before you close the run, or open another run.
	 */
	readonly RUN_CLOSED: "no";
	/**
	 * A protection with `whenUnavailable: "refuse"`, or the guard with `guard: "required"`, cannot work on this machine.
	 * @remedy The message names what is missing; `doctor` checks a machine beforehand.
	 */
	readonly PROTECTION_UNAVAILABLE: "no";
	/**
	 * The pool was closed, or its companion was lost, while the worker started.
	 * @remedy Nothing: the process was killed. A lost companion is restarted together with its workers; the
	 * `companion.ended` events have its exit status.
	 */
	readonly START_WITHDRAWN: "no";
	/**
	 * The worker was not ready before the deadline. The message says what was awaited, and which line on standard output
	 * does not belong to the protocol, if the adapter knows that.
	 * @remedy Print such lines, for example a greeting, to standard error. Otherwise, raise
	 * `start.timeoutMs`, or import less: on Linux, the last lines of a Python worker's output show which import it was in.
	 */
	readonly START_TIMEOUT: "no";
	/**
	 * The working directory of this program was removed, or cannot be entered, and a relative path or a search needs it.
	 * @remedy Start the program in a directory that exists, call `process.chdir()` before, or give absolute paths.
	 */
	readonly WORKING_DIRECTORY_GONE: "no";
	/**
	 * The program's reply on descriptor 3 is neither `ready` nor `failed`.
	 * @remedy Write one line with `ready` or `failed` there, and nothing before it.
	 */
	readonly READY_LINE_INVALID: "no";
	/**
	 * The program wrote more than 64 KiB to descriptor 3 without a line break.
	 * @remedy Write only the ready line there.
	 */
	readonly READY_LINE_TOO_LONG: "no";
	/**
	 * The worker reported that it cannot start, with a code that its adapter does not know.
	 * @remedy The message has the worker's reason.
	 */
	readonly WORKER_REFUSED: "no";
	/**
	 * The worker started, but the adapter could not connect to it.
	 * @remedy The adapter's error is the `cause`.
	 */
	readonly CONNECT_FAILED: "no";
	/**
	 * Workers kept exiting; the pool waits before it tries again.
	 * @remedy See the `worker.exited` events; `start.maxRestarts` is the limit.
	 */
	readonly RESTART_BUDGET_SPENT: "no";
	/**
	 * A preloaded parent could not be started, or one of its imports raised. Reported by `preload.unavailable`.
	 * @remedy The message has the reason. Until then, workers start without it.
	 */
	readonly PRELOAD_FAILED: "no";
	/**
	 * The preloaded parent exited too often. Reported by `preload.unavailable`.
	 * @remedy See the `preload.ended` events. Until then, workers start without it.
	 */
	readonly PRELOAD_LOST: "no";
	/**
	 * This system does not allow a fork without an exec. Reported by `preload.unavailable`.
	 * @remedy Leave `preload` out.
	 */
	readonly FORK_UNSAFE_PLATFORM: "no";
}

/** Codes of `RegistryError`. */
export interface RegistryErrorCodes {
	/**
	 * The ledger's directory is not writable: it is read-only, or this user lacks permission.
	 * @remedy Change its permissions, or set `dataDir`.
	 */
	readonly REGISTRY_UNWRITABLE: "no";
	/**
	 * The ledger's disk is full.
	 * @remedy Free some space, or set `dataDir`.
	 */
	readonly REGISTRY_FULL: "no";
	/**
	 * The ledger cannot be opened: the program or the system has reached its limit of open files (`EMFILE`, `ENFILE`).
	 * @remedy Raise `ulimit -n`, or close files that the program holds open.
	 */
	readonly REGISTRY_OUT_OF_DESCRIPTORS: "no";
	/**
	 * Another program has this run's ledger file open.
	 * @remedy Stop that program.
	 */
	readonly REGISTRY_LOCKED: "no";
	/**
	 * This run's ledger file cannot be read.
	 * @remedy Start the program again: it creates a new file.
	 */
	readonly REGISTRY_CORRUPT: "no";
	/**
	 * The native module better-sqlite3 cannot be loaded: it is not installed, was bundled, or was built for another
	 * system. Or its SQLite is older than 3.51.3.
	 * @remedy Follow the message: install it, exclude it from the bundle, reinstall it on this system, or update it.
	 */
	readonly REGISTRY_UNSUPPORTED: "no";
}
