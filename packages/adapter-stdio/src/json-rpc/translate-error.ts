import { InputError, SnakepitError, ToolError } from "@snakepit/core";
import { ConnectionBrokenError } from "@snakepit/core/adapter";
import { ConversationEnded, Fault } from "./json-rpc-peer.ts";

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

/** What a request came to, as an error of Snakepit. */
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
	const fields = { message: `"${method}": ${message}`, cause: error } as const;
	if (error.code === METHOD_NOT_FOUND)
		return new InputError({ ...fields, code: "TOOL_NOT_FOUND", ran: "no" });
	if (error.code === INVALID_PARAMS)
		return new InputError({ ...fields, code: "INVALID_ARGUMENTS", ran: "no" });
	return new ToolError({
		...fields,
		ran: "maybe",
		remote: {
			type: `JSON-RPC error ${error.code}`,
			message,
			traceback: described(error.data),
			...{ notes: [], frames: [], cause: undefined },
		},
	});
}

function described(data: unknown): string {
	if (data === undefined) return "";
	return typeof data === "string" ? data : JSON.stringify(data);
}
