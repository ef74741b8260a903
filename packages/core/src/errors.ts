import { brandAs } from "./brand.ts";

/**
 * Whether the work of a call may have begun: `"no"` means a retry is safe,
 * `"maybe"` that only a caller who knows the work is idempotent may retry.
 */
export type Ran = "no" | "maybe";

/** Codes of {@link OptionsError}. */
export type OptionsErrorCode =
	| "INVALID_OPTION"
	| "UNKNOWN_OPTION"
	| "RUN_OPTION_CONFLICT";
/** Codes of {@link StartError}. */
export type StartErrorCode =
	| "PLATFORM_UNSUPPORTED"
	| "NODE_TOO_OLD"
	| "OUT_OF_DESCRIPTORS"
	| "RUNTIME_DIRECTORY_UNSAFE"
	| "RUNTIME_DIRECTORY_UNWRITABLE"
	| "SOCKET_PATH_TOO_LONG"
	| "SPAWN_FAILED"
	| "WORKER_EXITED_EARLY"
	| "START_TIMEOUT"
	| "START_WITHDRAWN"
	| "PROTECTION_UNAVAILABLE"
	| "RUN_CLOSED"
	| "READY_LINE_INVALID"
	| "READY_LINE_TOO_LONG"
	| "WORKER_REFUSED"
	| "CONNECT_FAILED"
	| "RESTART_BUDGET_SPENT"
	| "PROTOCOL_MISMATCH"
	| "VERSION_MISMATCH"
	| "PYTHON_NOT_FOUND"
	| "PYTHON_UNUSABLE"
	| "PYTHON_TOO_OLD"
	| "BRIDGE_MISSING"
	| "TOOLS_IMPORT_FAILED"
	| "STARTUP_HOOK_FAILED"
	| "ENVIRONMENT_FAILED"
	| "PRELOAD_FAILED"
	| "PRELOAD_LOST"
	| "FORK_UNSAFE_PLATFORM"
	| "FORK_UNSAFE_THREADS"
	| "FORK_UNSAFE_GRPC"
	| "FORK_UNSAFE_CUDA"
	| "FORK_UNSAFE_CONNECTIONS";
/** Codes of {@link RegistryError}. */
export type RegistryErrorCode =
	| "REGISTRY_UNWRITABLE"
	| "REGISTRY_FULL"
	| "REGISTRY_OUT_OF_DESCRIPTORS"
	| "REGISTRY_LOCKED"
	| "REGISTRY_CORRUPT"
	| "REGISTRY_UNSUPPORTED";
/** Codes of {@link QueueError}. */
export type QueueErrorCode = "QUEUE_FULL" | "QUEUE_TIMEOUT" | "POOL_CLOSED";
/** Codes of {@link WorkerLostError}. */
export type WorkerLostErrorCode =
	| "WORKER_EXITED"
	| "WORKER_HUNG"
	| "WORKER_REPLACED"
	| "SESSION_LOST";
/** Codes of {@link InputError}. */
export type InputErrorCode =
	| "TOOL_NOT_FOUND"
	| "INVALID_ARGUMENTS"
	| "VALUE_NOT_TRANSFERABLE"
	| "MESSAGE_TOO_LARGE"
	| "RESULT_TOO_LARGE"
	| "WRONG_SHAPE"
	| "SESSION_CLOSED"
	| "NOT_OFFERED";

export type ErrorCode =
	| OptionsErrorCode
	| StartErrorCode
	| RegistryErrorCode
	| QueueErrorCode
	| WorkerLostErrorCode
	| InputErrorCode
	| "CALL_ABORTED"
	| "CALL_TIMEOUT"
	| "TOOL_FAILED"
	| "CONNECTION_BROKEN"
	| "IMPOSSIBLE_TRANSITION";

export interface ErrorFields<Code extends string = ErrorCode> {
	readonly code: Code;
	/** Who, what happened with numbers and the worker's last lines, the remedy with the option's name. */
	readonly message: string;
	readonly ran: Ran;
	readonly cause?: unknown;
}

/**
 * The base of every error that Snakepit throws. `code` is stable, the message is for people.
 *
 * `instanceof` holds for this class and those derived from it also where a program has
 * several copies of this package, bundled or installed.
 */
export class SnakepitError<Code extends ErrorCode = ErrorCode> extends Error {
	static {
		brandAs(SnakepitError, "error.SnakepitError");
	}

	override readonly name: string = "SnakepitError";
	readonly code: Code;
	readonly ran: Ran;
	/** In a `pool.map`: which item it is of, from 0. */
	declare readonly item?: number | undefined;

	constructor(fields: ErrorFields<Code>) {
		super(
			fields.message,
			fields.cause === undefined ? undefined : { cause: fields.cause },
		);
		this.code = fields.code;
		this.ran = fields.ran;
	}
}

/** An option is misspelt or out of range. Thrown at the door; nothing was started. */
export class OptionsError extends SnakepitError<OptionsErrorCode> {
	static {
		brandAs(OptionsError, "error.OptionsError");
	}

	override readonly name: string = "OptionsError";
}

/** A pool or a worker could not be started. */
export class StartError extends SnakepitError<StartErrorCode> {
	static {
		brandAs(StartError, "error.StartError");
	}

	override readonly name: string = "StartError";
}

/** The ledger of processes cannot be used. */
export class RegistryError extends SnakepitError<RegistryErrorCode> {
	static {
		brandAs(RegistryError, "error.RegistryError");
	}

	override readonly name: string = "RegistryError";
}

/** The pool did not take the call, did not come to it in time, or was closed under it. */
export class QueueError extends SnakepitError<QueueErrorCode> {
	static {
		brandAs(QueueError, "error.QueueError");
	}

	override readonly name: string = "QueueError";
}

/** The caller's own AbortSignal ended the call; `cause` is the signal's reason. */
export class CallAbortedError extends SnakepitError<"CALL_ABORTED"> {
	static {
		brandAs(CallAbortedError, "error.CallAbortedError");
	}

	override readonly name: string = "AbortError";
}

/** The call's deadline passed, in the queue or on a worker. */
export class CallTimeoutError extends SnakepitError<"CALL_TIMEOUT"> {
	static {
		brandAs(CallTimeoutError, "error.CallTimeoutError");
	}

	override readonly name: string = "TimeoutError";
}

/** The worker died, hung or had to be replaced under the call. */
export class WorkerLostError extends SnakepitError<WorkerLostErrorCode> {
	static {
		brandAs(WorkerLostError, "error.WorkerLostError");
	}

	override readonly name: string = "WorkerLostError";
}

/** The call cannot work as it was made: unknown tool, wrong arguments, a value that cannot cross, a session that is over. */
export class InputError extends SnakepitError<InputErrorCode> {
	static {
		brandAs(InputError, "error.InputError");
	}

	override readonly name: string = "InputError";
	/** Where in the arguments or the result, as `$.images[3]`; empty when it is not about one place. */
	readonly path: string;

	constructor(
		fields: ErrorFields<InputErrorCode> & { readonly path?: string },
	) {
		super(fields);
		this.path = fields.path ?? "";
	}
}

/** What the worker's language says of an error that a tool raised. */
export interface RemoteError {
	/** The type as its language names it, for example `ValueError` or `numpy.linalg.LinAlgError`. */
	readonly type: string;
	readonly message: string;
	/** As the language prints it. */
	readonly traceback: string;
	readonly notes: readonly string[];
	readonly frames: readonly {
		readonly file: string;
		readonly line: number;
		readonly function: string;
	}[];
	readonly cause: RemoteError | undefined;
}

/** The tool itself failed; `remote` is what its language says. */
export class ToolError extends SnakepitError<"TOOL_FAILED"> {
	static {
		brandAs(ToolError, "error.ToolError");
	}

	override readonly name: string = "ToolError";
	readonly remote: RemoteError;

	constructor(
		fields: ErrorFields<"TOOL_FAILED"> & { readonly remote: RemoteError },
	) {
		super(fields);
		this.remote = fields.remote;
	}
}

/**
 * The conversation with a worker broke while the process may still live.
 * Adapters throw it; the pool replaces the worker and reports `WORKER_EXITED`.
 */
export class ConnectionBrokenError extends SnakepitError<"CONNECTION_BROKEN"> {
	static {
		brandAs(ConnectionBrokenError, "error.ConnectionBrokenError");
	}

	override readonly name: string = "ConnectionBrokenError";
}
