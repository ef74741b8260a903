import type { StartError } from "@snakepit/core";

/** Codes that this adapter adds to those of `StartError`. Each member is a code, its type what `ran` is. */
export interface PythonStartErrorCodes {
	/**
	 * A preloaded import started threads, which do not survive a fork. Reported by `preload.unavailable`.
	 * @remedy Start them in a start-up hook instead.
	 */
	readonly FORK_UNSAFE_THREADS: "no";
	/**
	 * A preloaded import initialised gRPC. Reported by `preload.unavailable`.
	 * @remedy Create channels and servers in a start-up hook.
	 */
	readonly FORK_UNSAFE_GRPC: "no";
	/**
	 * A preloaded import initialised a GPU driver. Reported by `preload.unavailable`.
	 * @remedy Do that in a start-up hook.
	 */
	readonly FORK_UNSAFE_CUDA: "no";
	/**
	 * A preloaded import opened sockets, pipes or event queues, which all workers would share. Reported by
	 * `preload.unavailable`.
	 * @remedy Open connections and event loops in a start-up hook instead.
	 */
	readonly FORK_UNSAFE_CONNECTIONS: "no";
	/**
	 * A preloaded import opened a file that workers can neither share nor open again: for writing, with a lock, or as an
	 * SQLite database. The message names the file and the variable that holds it. Reported by `preload.unavailable`.
	 * @remedy Open it in a start-up hook or in the tool instead.
	 */
	readonly FORK_UNSAFE_FILES: "no";
	/**
	 * The npm package and the PyPI package use different versions of the protocol.
	 * @remedy Update the one that the message names.
	 */
	readonly PROTOCOL_MISMATCH: "no";
	/**
	 * `snakepit-bridge` and the npm package have incompatible versions: their major versions differ (or, before 1.0,
	 * their minor versions).
	 * @remedy Run one of the two commands in the message.
	 */
	readonly VERSION_MISMATCH: "no";
	/**
	 * No interpreter was found.
	 * @remedy The message lists the places searched. Set `python` to choose one.
	 */
	readonly PYTHON_NOT_FOUND: "no";
	/**
	 * The interpreter selected by `python`, `environment`, `VIRTUAL_ENV` or a `.venv` cannot be used: it does not exist,
	 * does not run, or this user may not read it or its packages. Snakepit does not fall back to another one.
	 * @remedy The message names the cause: fix the permissions of its files, recreate the environment, or set another
	 * `python`.
	 */
	readonly PYTHON_UNUSABLE: "no";
	/**
	 * The interpreter is older than 3.10.
	 * @remedy Choose another one with `python`.
	 */
	readonly PYTHON_TOO_OLD: "no";
	/**
	 * The chosen interpreter has no `snakepit-bridge`, a `pythonEnvironment()` does not list it in its requirements, or a
	 * worker cannot import what the bridge depends on.
	 * @remedy The message has the command that installs it, why this interpreter was chosen, and which ones were passed
	 * over.
	 */
	readonly BRIDGE_MISSING: "no";
	/**
	 * The tools could not be imported.
	 * @remedy The message has the reason, and Python's traceback if the tools raised an error.
	 */
	readonly TOOLS_IMPORT_FAILED: "no";
	/**
	 * A start-up hook raised an error.
	 * @remedy The message has Python's traceback.
	 */
	readonly STARTUP_HOOK_FAILED: "no";
	/**
	 * With `debug: "debugpy"`: debugpy cannot be imported, or is too old.
	 * @remedy Run the command in the message.
	 */
	readonly DEBUGGER_UNUSABLE: "no";
	/**
	 * A Python environment could not be created.
	 * @remedy The message has the installer's last lines of output.
	 */
	readonly ENVIRONMENT_FAILED: "no";
}

export type PythonStartErrorCode = keyof PythonStartErrorCodes;
/** A worker, its interpreter or its environment could not be started. */
export type PythonStartError = StartError<PythonStartErrorCode>;
