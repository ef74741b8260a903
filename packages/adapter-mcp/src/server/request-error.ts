import type { ErrorCode } from "@modelcontextprotocol/sdk/types.js";

/** Answers a request with an error. The SDK's McpError would send its prefix with the message, and clients write it, too. */
export function requestError(code: ErrorCode, message: string): Error {
	return Object.assign(new Error(message), { code });
}
