import type { IncomingHttpHeaders } from "node:http";
import { InputError, SnakepitError, ToolError } from "@snakepit/core";
import { InputFailed } from "./outgoing.ts";

/** The server answered with a status other than 2xx: the `cause` of the `ToolError`. */
export class HttpStatusError extends Error {
	override readonly name = "HttpStatusError";
	readonly status: number;
	readonly headers: IncomingHttpHeaders;
	/** Its beginning: up to 64 KiB. */
	readonly body: string;

	constructor(
		status: number,
		reason: string,
		headers: IncomingHttpHeaders,
		body: string,
	) {
		super(`HTTP ${status}${reason && ` ${reason}`}`);
		this.status = status;
		this.headers = headers;
		this.body = body;
	}
}

/** In messages. */
const SHOWN = 500;

export function refused(command: string, status: HttpStatusError): ToolError {
	return failed(command, status.message, shown(status.body), status);
}

/** Converts the failure of a call whose server continues to run. */
export function translate(error: Error, command: string): SnakepitError {
	if (error instanceof SnakepitError) return error;
	if (error instanceof InputFailed)
		return error.cause instanceof SnakepitError && error.cause.ran === "maybe"
			? error.cause
			: inputFailed(command, error.cause);
	if (error instanceof SyntaxError)
		return failed(command, "unreadable response", error.message, error);
	const message = `the connection ended before the response did (${error.message}), but the server still runs`;
	return failed(command, "incomplete response", message, error);
}

function failed(
	command: string,
	type: string,
	message: string,
	cause: unknown,
): ToolError {
	return new ToolError({
		ran: "maybe",
		message: `"${command}" failed: ${type}${message && `: ${message}`}`,
		cause,
		remote: { type, message: message || type },
	});
}

export function resultTooLarge(limit: number): InputError {
	return new InputError({
		code: "RESULT_TOO_LARGE",
		ran: "maybe",
		message: `http(): the response, or one item of it, is larger than maxMessageBytes, ${limit}. Raise it, or read the response with pool.stream.`,
	});
}

function inputFailed(command: string, cause: unknown): InputError {
	return new InputError({
		code: "INVALID_ARGUMENTS",
		ran: "maybe",
		message: `The input of "${command}" failed: ${String(cause)}`,
		cause,
	});
}

function shown(text: string): string {
	return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
