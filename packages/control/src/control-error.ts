/** Codes of {@link ControlError} that the client itself has; others are those of the server, and of core. */
export type ControlErrorCode =
	/** No run answers that fits what was asked for. */
	| "NO_SUCH_RUN"
	/** An option of `attach` is misspelt or out of range. */
	| "INVALID_OPTION"
	/** Several runs fit: name one. */
	| "SEVERAL_RUNS"
	/** The program is there and does not answer: it is stopped, or its event loop is blocked. */
	| "HOST_SILENT"
	/** The program ended, or closed its run. */
	| "HOST_GONE"
	/** What answered is no server of this package's version. */
	| "INVALID_ANSWER"
	/** The program does not allow it. */
	| "SCOPE_NOT_ALLOWED"
	| "WRONG_TOKEN"
	| "NO_SUCH_POOL"
	| (string & {});

/** A run could not be looked at, or did not do what was asked. */
export class ControlError extends Error {
	override readonly name: string = "ControlError";
	readonly code: ControlErrorCode;
	/** Of a call: whether its work may have begun. */
	readonly ran: "no" | "maybe" | undefined;
	/** Of a call whose tool failed: what it raised, in the terms of its language. */
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
