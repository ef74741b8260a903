import type {
	CloseErrorCode,
	ErrorCode,
	InputErrorCode,
	JobErrorCode,
	OptionsErrorCode,
	QueueErrorCode,
	Ran,
	RegistryErrorCode,
	StartErrorCode,
	WorkerLostErrorCode,
} from "./error-codes.ts";
import type { ProcessExit } from "./identity.ts";

/**
 * Makes `instanceof` hold for the instances that another copy of the package of `type` made.
 *
 * A program can hold several copies: one in a bundle and one installed, two versions
 * in one tree of dependencies. Each has classes of its own; the brand is a symbol of
 * the whole process. A class that a program derives from `type` has its own instances
 * alone, as always.
 *
 * @param name that of the class, with what it belongs to: `error.InputError`.
 */
export function brandAs(
	type: { readonly prototype: object },
	name: string,
): void {
	const brand = Symbol.for(`snakepit.${name}`);
	Object.defineProperty(type.prototype, brand, { value: true });
	Object.defineProperty(type, Symbol.hasInstance, {
		value(this: object, candidate: unknown): boolean {
			return this === type
				? typeof candidate === "object" &&
						candidate !== null &&
						brand in candidate
				: Function.prototype[Symbol.hasInstance].call(this, candidate);
		},
	});
}

export interface ErrorFields<Code extends string = ErrorCode> {
	readonly code: Code;
	/** What failed and why, with the values involved, the worker's last lines of output, and what to do next. */
	readonly message: string;
	readonly ran: Ran;
	readonly cause?: unknown;
}

/** Fields of an error that is found before any work has begun, unless it ends a call that was tried before. */
type EarlyFields<Code extends string> = Omit<ErrorFields<Code>, "ran"> & {
	/** @default "no" */
	readonly ran?: Ran | undefined;
};

/**
 * The base class of every error that Snakepit throws. `code` is stable; the message is for people.
 *
 * `instanceof` works for this class and its subclasses even if a program has several copies of this package, bundled or
 * installed.
 */
export class SnakepitError<Code extends string = ErrorCode> extends Error {
	static {
		brandAs(SnakepitError, "error.SnakepitError");
	}

	override readonly name: string = "SnakepitError";
	/** Stable: switch on it. Every code has a meaning and a remedy in docs/reference/errors.md. */
	readonly code: Code;
	/** Whether the work may have begun. After `"no"`, another call cannot do it twice. */
	readonly ran: Ran;
	/** In a `pool.map`: the index of the item that failed, from 0. */
	declare readonly item?: number | undefined;
	/** For a retried call: how many attempts there were. The last one may not have begun. */
	declare readonly attempts?: number | undefined;

	constructor(fields: ErrorFields<Code>) {
		super(
			fields.message,
			fields.cause === undefined ? undefined : { cause: fields.cause },
		);
		this.code = fields.code;
		this.ran = fields.ran;
	}

	/**
	 * For `JSON.stringify`: adds the message, which JSON leaves out of an error, and omits the stack and the cause. It also
	 * omits tracebacks and file names of the worker, because an answer to a client may contain it.
	 */
	toJSON(): object {
		return { ...this, message: this.message };
	}
}

/** An option is misspelt, out of range or of the wrong type. Thrown before anything is started. */
export class OptionsError extends SnakepitError<OptionsErrorCode> {
	static {
		brandAs(OptionsError, "error.OptionsError");
	}

	override readonly name: string = "OptionsError";

	constructor({ ran = "no", ...fields }: EarlyFields<OptionsErrorCode>) {
		super({ ...fields, ran });
	}
}

/**
 * A pool or a worker could not be started. An adapter names the codes that it
 * adds: `new StartError<PythonStartErrorCode>({ … })`.
 */
export class StartError<
	Code extends string = StartErrorCode,
> extends SnakepitError<Code> {
	static {
		brandAs(StartError, "error.StartError");
	}

	override readonly name: string = "StartError";

	/** `NoInfer`: a code that is not declared does not compile. */
	constructor({ ran = "no", ...fields }: EarlyFields<NoInfer<Code>>) {
		super({ ...fields, ran });
	}
}

/** The ledger of processes cannot be used. */
export class RegistryError extends SnakepitError<RegistryErrorCode> {
	static {
		brandAs(RegistryError, "error.RegistryError");
	}

	override readonly name: string = "RegistryError";

	constructor({ ran = "no", ...fields }: EarlyFields<RegistryErrorCode>) {
		super({ ...fields, ran });
	}
}

/** The pool refused the call, had no worker for it in time, or was closed before it ended. */
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
	/**
	 * As an adapter throws it: whether the worker has finished with the call. `"unknown"` where its protocol does not
	 * confirm a cancel: the worker takes no more calls, finishes its others, and is replaced. Default `"free"`.
	 */
	readonly worker: "free" | "unknown";

	constructor({
		worker = "free",
		...fields
	}: ErrorFields<"CALL_ABORTED"> & {
		readonly worker?: "free" | "unknown" | undefined;
	}) {
		super(fields);
		this.worker = worker;
	}
}

/** The call's deadline passed, in the queue or on a worker. */
export class CallTimeoutError extends SnakepitError<"CALL_TIMEOUT"> {
	static {
		brandAs(CallTimeoutError, "error.CallTimeoutError");
	}

	override readonly name: string = "TimeoutError";
}

/** The worker died, was hung, or had to be replaced while it ran the call. */
export class WorkerLostError extends SnakepitError<WorkerLostErrorCode> {
	static {
		brandAs(WorkerLostError, "error.WorkerLostError");
	}

	override readonly name: string = "WorkerLostError";
}

/** A job failed, was stopped early, or was refused. */
export class JobError extends SnakepitError<JobErrorCode> {
	static {
		brandAs(JobError, "error.JobError");
	}

	/** `"AbortError"` with `JOB_ABORTED` and `"TimeoutError"` with `JOB_TIMEOUT`, as the platform names them. */
	override readonly name: string;
	/** How its process ended; `undefined` if it never had one, or if its process survives SIGKILL. */
	readonly exit: ProcessExit | undefined;
	/** The last lines of its standard error, oldest first. */
	readonly stderrTail: readonly string[];

	constructor(
		fields: ErrorFields<JobErrorCode> & {
			readonly exit?: ProcessExit | undefined;
			readonly stderrTail?: readonly string[] | undefined;
		},
	) {
		super(fields);
		this.name = JOB_ERROR_NAMES[fields.code] ?? "JobError";
		this.exit = fields.exit;
		this.stderrTail = fields.stderrTail ?? [];
	}
}

const JOB_ERROR_NAMES: Partial<Record<JobErrorCode, string>> = {
	JOB_ABORTED: "AbortError",
	JOB_TIMEOUT: "TimeoutError",
};

/** `close()` could not end everything: processes of the pool or the run are still there. */
export class CloseError extends SnakepitError<CloseErrorCode> {
	static {
		brandAs(CloseError, "error.CloseError");
	}

	override readonly name: string = "CloseError";
	/** Their pids. */
	readonly stillThere: readonly number[];

	constructor(
		fields: ErrorFields<CloseErrorCode> & {
			readonly stillThere: readonly number[];
		},
	) {
		super(fields);
		this.stillThere = fields.stillThere;
	}
}

/** The call itself is wrong: an unknown tool, wrong arguments, a value that cannot be sent, or a session that has ended. */
export class InputError extends SnakepitError<InputErrorCode> {
	static {
		brandAs(InputError, "error.InputError");
	}

	override readonly name: string = "InputError";
	/** Where in the arguments or the result, such as `$.images[3]`; empty if the error does not concern one value. */
	readonly path: string;

	constructor(
		fields: ErrorFields<InputErrorCode> & { readonly path?: string },
	) {
		super(fields);
		this.path = fields.path ?? "";
	}
}

/** How a tool failed, as its worker reported it. Fields that its language or protocol does not have are absent. */
export interface RemoteError {
	/** As its language or protocol names it, for example `numpy.linalg.LinAlgError` or `JSON-RPC error -32000`. */
	readonly type: string;
	readonly message: string;
	/** As the language prints it. */
	readonly traceback?: string | undefined;
	/** Where it was raised, the innermost last. */
	readonly frames?: readonly RemoteFrame[] | undefined;
	/** Notes that were added to it, as with Python's `add_note`. */
	readonly notes?: readonly string[] | undefined;
	readonly cause?: RemoteError | undefined;
	/** Protocol-specific data, such as the `data` of a JSON-RPC error. */
	readonly data?: unknown;
}

/** One line of a program. */
export interface RemoteFrame {
	readonly file: string;
	readonly line: number;
	readonly function: string;
}

/** The tool itself failed; `remote` describes it in the terms of its language. */
export class ToolError extends SnakepitError<"TOOL_FAILED"> {
	static {
		brandAs(ToolError, "error.ToolError");
	}

	override readonly name: string = "ToolError";
	readonly remote: RemoteError;

	constructor(
		fields: Omit<ErrorFields, "code"> & { readonly remote: RemoteError },
	) {
		super({ ...fields, code: "TOOL_FAILED" });
		this.remote = fields.remote;
	}

	override toJSON(): object {
		return { ...super.toJSON(), remote: withoutTracebacks(this.remote) };
	}
}

function withoutTracebacks({ cause, ...remote }: RemoteError): RemoteError {
	return {
		...remote,
		traceback: undefined,
		frames: undefined,
		cause: cause && withoutTracebacks(cause),
	};
}

/**
 * The connection to a worker broke: the process is gone, its output ended, or it sent something invalid.
 *
 * An adapter throws it for each running call. With `ran: "maybe"`, the pool ends the process and replaces it, as after
 * `WorkerProcess.broken`, and the caller gets a `WorkerLostError` with the worker's exit status and last lines of output.
 * With `ran: "no"`, which means that the call was certainly not sent, another worker runs the call.
 */
export class ConnectionBrokenError extends SnakepitError<"CONNECTION_BROKEN"> {
	static {
		brandAs(ConnectionBrokenError, "error.ConnectionBrokenError");
	}

	override readonly name: string = "ConnectionBrokenError";

	constructor(fields: Omit<ErrorFields, "code">) {
		super({ ...fields, code: "CONNECTION_BROKEN" });
	}
}

/**
 * For adapters: a call that its caller has cancelled, whatever the worker answered.
 *
 * @param worker `"unused"`: the call was cancelled before it was sent, so its work has not begun. `"free"`: the worker
 *   has finished with it. `"unknown"`: nothing says so, and the worker is replaced.
 */
export function callAborted(
	command: string,
	{ reason }: AbortSignal,
	worker: "unused" | "free" | "unknown",
): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran: worker === "unused" ? "no" : "maybe",
		message: `"${command}" was cancelled.`,
		cause: reason,
		worker: worker === "unused" ? "free" : worker,
	});
}

/** The process that was to fork it ended while it did. */
export class ForkLost extends StartError {
	/** The name of the process source. */
	readonly source: string;

	constructor(executable: string, source: string, cause: Error) {
		super({
			code: "SPAWN_FAILED",
			message: `Cannot start ${executable}: the ${source} that forks it was lost (${cause.message}). Start it again.`,
			cause,
		});
		this.source = source;
	}
}
