import { InputError, SnakepitError, ToolError } from "@snakepit/core";
import { ConnectionBrokenError } from "@snakepit/core/adapter";
import { ConversationEnded, Fault } from "./json-rpc-peer.ts";
import type { Failure } from "./message.ts";

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

/** Converts the failure of a request to a Snakepit error. */
export function translate(error: unknown, method: string): SnakepitError {
	if (error instanceof SnakepitError) return error;
	const { message } = error as Error;
	if (error instanceof ConversationEnded)
		return new ConnectionBrokenError({
			ran: error.sent,
			message,
			cause: error,
		});
	if (!(error instanceof Fault))
		return new InputError({
			code: "VALUE_NOT_TRANSFERABLE",
			ran: "no",
			message: `The params of "${method}" cannot be JSON: ${message}`,
			cause: error,
		});
	return refusedBy(error, method, "JSON-RPC error");
}

/** Converts the error response to a request to a Snakepit error. @param type of errors of this protocol. */
export function refusedBy(
	failure: Failure,
	method: string,
	type: string,
): SnakepitError {
	const { code, message, data } = failure;
	const fields = {
		message: `"${method}": ${message}`,
		cause: failure,
	} as const;
	if (code === METHOD_NOT_FOUND)
		return new InputError({ ...fields, code: "TOOL_NOT_FOUND", ran: "no" });
	if (code === INVALID_PARAMS)
		return new InputError({ ...fields, code: "INVALID_ARGUMENTS", ran: "no" });
	return new ToolError({
		...fields,
		ran: "maybe",
		remote: {
			...{ type: code === undefined ? type : `${type} ${code}`, message },
			...(data !== undefined && { data }),
		},
	});
}
