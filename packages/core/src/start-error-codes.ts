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
	 * The directory for sockets is a link, belongs to another user, or can be written by others.
	 * @remedy Repair its rights, or set `XDG_RUNTIME_DIR`.
	 */
	readonly RUNTIME_DIRECTORY_UNSAFE: "no";
	/**
	 * The directory for sockets and scratch files is full or read-only, or the system refuses to listen in it.
	 * @remedy Follow the message, or set `XDG_RUNTIME_DIR`.
	 */
	readonly RUNTIME_DIRECTORY_UNWRITABLE: "no";
	/**
	 * This program, or the whole system, has as many files open as it may (`EMFILE`, `ENFILE`).
	 * @remedy Raise `ulimit -n`, or close files that the program has open.
	 */
	readonly OUT_OF_DESCRIPTORS: "no";
	/**
	 * The path of a socket would exceed the system's limit of about 100 bytes.
	 * @remedy Set `XDG_RUNTIME_DIR` to a shorter path.
	 */
	readonly SOCKET_PATH_TOO_LONG: "no";
	/**
	 * The system could not start the program.
	 * @remedy The message has the system's own reason.
	 */
	readonly SPAWN_FAILED: "no";
	/**
	 * The adapter asks for descriptors that a worker of a guard or of a preloaded parent cannot have: a guard gives streams
	 * numbered 3 to 6.
	 * @remedy Ask for such ones, start its pool in a run without a guard, or its workers without `preload`.
	 */
	readonly DESCRIPTORS_UNSUPPORTED: "no";
	/**
	 * The worker exited, or closed the channel on which it was to say that it is ready, before it was.
	 * @remedy The message has its exit status or signal, and its last lines of output.
	 */
	readonly WORKER_EXITED_EARLY: "no";
	/**
	 * `run.createPool()` was called after `run.close()`.
	 * @remedy Make pools before the run is closed, or open another run.
	 */
	readonly RUN_CLOSED: "no";
	/**
	 * A protection made with `whenUnavailable: "refuse"` cannot work on this machine.
	 * @remedy The message names what is missing; `doctor` checks a machine beforehand.
	 */
	readonly PROTECTION_UNAVAILABLE: "no";
	/**
	 * The pool was closed, or its companion was lost, while the worker started.
	 * @remedy Nothing: the process is ended. A companion that is lost is started anew, and the worker with it; the events
	 * `companion.ended` have its exit.
	 */
	readonly START_WITHDRAWN: "no";
	/**
	 * The worker was not ready in time.
	 * @remedy Raise `start.timeoutMs`, or import less: on Linux the last lines of a Python worker show which import it
	 * was in.
	 */
	readonly START_TIMEOUT: "no";
	/**
	 * The answer on descriptor 3 is neither ready nor failed.
	 * @remedy See docs/bridge-protocol.md.
	 */
	readonly READY_LINE_INVALID: "no";
	/**
	 * The program wrote more than 64 KiB to descriptor 3 without a line break.
	 * @remedy Write nothing but the ready line there.
	 */
	readonly READY_LINE_TOO_LONG: "no";
	/**
	 * The worker reported that it cannot start, with a code that its adapter does not name.
	 * @remedy The message has its reason.
	 */
	readonly WORKER_REFUSED: "no";
	/**
	 * The worker started, but the adapter could not connect to it.
	 * @remedy The adapter's error is the `cause`.
	 */
	readonly CONNECT_FAILED: "no";
	/**
	 * Workers ended again and again; the pool waits before it tries again.
	 * @remedy Look at the events `worker.exited`; `start.maxRestarts` is the limit.
	 */
	readonly RESTART_BUDGET_SPENT: "no";
	/**
	 * A preloaded parent could not be started, or one of its imports raised. Reported by `preload.unavailable`.
	 * @remedy The message has the reason. Workers start by themselves meanwhile.
	 */
	readonly PRELOAD_FAILED: "no";
	/**
	 * A preloaded parent ended too often. Reported by `preload.unavailable`.
	 * @remedy Look at the events `preload.ended`. Workers start by themselves meanwhile.
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
	 * The directory of the ledger cannot be written: it is read-only, or this user lacks the rights.
	 * @remedy Change its rights, or set `dataDir`.
	 */
	readonly REGISTRY_UNWRITABLE: "no";
	/**
	 * The disk of the ledger is full.
	 * @remedy Free space on it, or set `dataDir`.
	 */
	readonly REGISTRY_FULL: "no";
	/**
	 * The ledger cannot be opened: the program or the system has as many files open as it may (`EMFILE`, `ENFILE`).
	 * @remedy Raise `ulimit -n`, or close files that the program has open.
	 */
	readonly REGISTRY_OUT_OF_DESCRIPTORS: "no";
	/**
	 * Another program holds the ledger file of this run.
	 * @remedy End the program that opened it.
	 */
	readonly REGISTRY_LOCKED: "no";
	/**
	 * The ledger file of this run cannot be read back.
	 * @remedy Start again: a new file is made.
	 */
	readonly REGISTRY_CORRUPT: "no";
	/**
	 * The native module better-sqlite3 does not load: it is not installed where the program runs, was put into a
	 * bundle, or was built for another system. Or its SQLite is older than 3.51.3.
	 * @remedy Follow the message: install it, keep it outside of the bundle, install it again on this system, or
	 * update it.
	 */
	readonly REGISTRY_UNSUPPORTED: "no";
}
