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
