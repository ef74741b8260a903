import {
	ErrorCode,
	type JSONRPCErrorResponse,
} from "@modelcontextprotocol/sdk/types.js";

const MOST_CHARACTERS = 1_000;

/**
 * An error response for an answer that the official client does not accept, so that its request ends; `undefined` if the
 * line is no answer.
 */
export function answerInstead(line: string): JSONRPCErrorResponse | undefined {
	let value: Record<string, unknown>;
	try {
		value = JSON.parse(line) ?? {};
	} catch {
		return undefined;
	}
	const { jsonrpc, id, method, error } = value;
	const isId = typeof id === "number" || typeof id === "string";
	if (jsonrpc !== "2.0" || !isId || method !== undefined) return undefined;
	const message = wordsOf(error);
	return {
		jsonrpc,
		id,
		error: {
			code: ErrorCode.InternalError,
			message:
				message ??
				`The server sent no valid answer: ${line.slice(0, MOST_CHARACTERS)}`,
		},
	};
}

function wordsOf(error: unknown): string | undefined {
	if (typeof error === "string") return error;
	const { message } = (error ?? {}) as { readonly message?: unknown };
	return typeof message === "string" ? message : undefined;
}
