import type { StartError } from "@snakepit/core";

/** Codes that this adapter adds to those of `StartError`. Each member is a code, its type what `ran` is. */
export interface PythonStartErrorCodes {
	/**
	 * A preloaded import started threads, which a fork does not have. Reported by `preload.unavailable`.
	 * @remedy Start them in a start-up hook.
	 */
	readonly FORK_UNSAFE_THREADS: "no";
	/**
	 * A preloaded import initialised gRPC. Reported by `preload.unavailable`.
	 * @remedy Make channels and servers in a start-up hook.
	 */
	readonly FORK_UNSAFE_GRPC: "no";
	/**
	 * A preloaded import initialised the driver of a GPU. Reported by `preload.unavailable`.
	 * @remedy Do that in a start-up hook.
	 */
	readonly FORK_UNSAFE_CUDA: "no";
	/**
	 * A preloaded import opened sockets, which all workers would share. Reported by `preload.unavailable`.
	 * @remedy Open connections and event loops in a start-up hook.
	 */
	readonly FORK_UNSAFE_CONNECTIONS: "no";
	/**
	 * The npm package and the PyPI package use different versions of the protocol.
	 * @remedy Update the one that the message names.
	 */
	readonly PROTOCOL_MISMATCH: "no";
	/**
	 * `snakepit-bridge` and the npm package are of different releases: the first number of their versions differs, or
	 * the first two while it is 0.
	 * @remedy Run one of the two commands in the message.
	 */
	readonly VERSION_MISMATCH: "no";
	/**
	 * No interpreter was found.
	 * @remedy The message lists the places that were searched; name one with `python`.
	 */
	readonly PYTHON_NOT_FOUND: "no";
	/**
	 * An interpreter is named by `python`, `environment`, `VIRTUAL_ENV` or a `.venv`, and cannot be used: it does not
	 * exist, does not run, or this user may not read it or its packages. No other is used instead.
	 * @remedy The message names the cause: repair the rights of its files, make the environment again, or name another
	 * `python`.
	 */
	readonly PYTHON_UNUSABLE: "no";
	/**
	 * The interpreter is older than 3.10.
	 * @remedy Name another with `python`.
	 */
	readonly PYTHON_TOO_OLD: "no";
	/**
	 * The chosen interpreter has no `snakepit-bridge`, a `pythonEnvironment()` does not list it in its requirements,
	 * or a worker cannot import what the bridge depends on.
	 * @remedy The message has the command that installs it, the reason why this interpreter was chosen, and those that
	 * were passed over.
	 */
	readonly BRIDGE_MISSING: "no";
	/**
	 * The tools could not be imported.
	 * @remedy The message has the reason, with Python's traceback where the tools raised.
	 */
	readonly TOOLS_IMPORT_FAILED: "no";
	/**
	 * A start-up hook raised.
	 * @remedy The message has Python's traceback.
	 */
	readonly STARTUP_HOOK_FAILED: "no";
	/**
	 * With `debug: "debugpy"`: debugpy cannot be imported, or is too old.
	 * @remedy Run the command in the message.
	 */
	readonly DEBUGGER_UNUSABLE: "no";
	/**
	 * A Python environment could not be made.
	 * @remedy The message has the last lines of the installer.
	 */
	readonly ENVIRONMENT_FAILED: "no";
}

export type PythonStartErrorCode = keyof PythonStartErrorCodes;
/** A worker, its interpreter or its environment could not be started. */
export type PythonStartError = StartError<PythonStartErrorCode>;
