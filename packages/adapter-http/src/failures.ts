import type { IncomingHttpHeaders } from "node:http";
import { InputError, SnakepitError, ToolError } from "@snakepit/core";
import { InputFailed } from "./request.ts";

/** Codes that this adapter adds to `StartError`. docs/reference/errors.md is extracted from here. */
export interface HttpStartErrorCodes {
	/**
	 * Another program listens on the port that the worker was given or that it printed.
	 * @remedy The pool starts the worker again, with `listen: "tcp"` on another port. `listen: "unix"` has no such race.
	 */
	readonly LISTENER_NOT_PROVEN: "no";
	/**
	 * The line matched by `listen.fromLine` does not name a port of this machine.
	 * @remedy The message quotes the line. The group `url` must match an address such as `http://127.0.0.1:8000`, or
	 * `port` a number.
	 */
	readonly ADDRESS_NOT_FOUND: "no";
}

export type HttpStartErrorCode = keyof HttpStartErrorCodes;

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
const EXCERPT_CHARACTERS = 500;

export function refused(command: string, status: HttpStatusError): ToolError {
	return failed(command, status.message, excerptOf(status.body), status);
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

function excerptOf(text: string): string {
	return text.length > EXCERPT_CHARACTERS
		? `${text.slice(0, EXCERPT_CHARACTERS)}…`
		: text;
}
