/** Codes of {@link ControlError} that the client creates; the others come from the server and from core. */
export type ControlErrorCode =
	/** No run that fits the options answers. */
	| "NO_SUCH_RUN"
	/** An option of `attach` is misspelt or out of range. */
	| "INVALID_OPTION"
	/** Several runs fit: name one. */
	| "SEVERAL_RUNS"
	/** The program exists but does not answer: it is stopped, or its event loop is blocked. */
	| "HOST_SILENT"
	/** The program ended, or closed its run. */
	| "HOST_GONE"
	/** The server that answered is not one of this package's version. */
	| "INVALID_ANSWER"
	/** The program does not allow it. */
	| "SCOPE_NOT_ALLOWED"
	| "WRONG_TOKEN"
	| "NO_SUCH_POOL"
	| (string & {});

/** A run could not be inspected, or did not carry out a request. */
export class ControlError extends Error {
	override readonly name: string = "ControlError";
	readonly code: ControlErrorCode;
	/** Of a call: whether its work may have begun. */
	readonly ran: "no" | "maybe" | undefined;
	/** If the tool of a call failed: the error that it raised, as its language describes it. */
	readonly remote: unknown;

	constructor(fields: {
		readonly code: ControlErrorCode;
		readonly message: string;
		readonly ran?: "no" | "maybe" | undefined;
		readonly remote?: unknown;
		readonly cause?: unknown;
	}) {
		super(
			fields.message,
			fields.cause === undefined ? undefined : { cause: fields.cause },
		);
		this.code = fields.code;
		this.ran = fields.ran;
		this.remote = fields.remote;
	}
}
