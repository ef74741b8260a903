import type { ErrorCode } from "@modelcontextprotocol/sdk/types.js";

/** Answers a request with an error. The SDK's McpError would add its prefix to the message, and clients add it again. */
export function requestError(code: ErrorCode, message: string): Error {
	return Object.assign(new Error(message), { code });
}
