import {
	type CallToolResult,
	ErrorCode,
	McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { InputError, SnakepitError, ToolError } from "@snakepit/core";
import { ConnectionBrokenError } from "@snakepit/core/adapter";

/** The tool reports a failure in its result. */
export function toolFailed(tool: string, result: CallToolResult): ToolError {
	const message = result.content
		.map((part) => (part.type === "text" ? part.text : `(${part.type})`))
		.join("\n");
	return failed(tool, "MCP tool error", message, result);
}

/** The prefix that the SDK adds to a message; many servers also send it. */
const PREFIX = /^(MCP error -?\d+: )+/;

/** Converts the failure of a request to a Snakepit error. */
export function translate(error: unknown, tool: string): SnakepitError {
	if (error instanceof SnakepitError) return error;
	const message = (error as Error).message.replace(PREFIX, "");
	if (!(error instanceof McpError) || error.code === ErrorCode.ConnectionClosed)
		return new ConnectionBrokenError({ ran: "maybe", message, cause: error });
	if (error.code === ErrorCode.InvalidParams)
		return new InputError({
			code: "INVALID_ARGUMENTS",
			ran: "no",
			message: `"${tool}": ${message}`,
			cause: error,
		});
	return failed(tool, `MCP error ${error.code}`, message, error);
}

export function unknownTool(
	tool: string,
	known: readonly string[],
): InputError {
	return new InputError({
		code: "TOOL_NOT_FOUND",
		ran: "no",
		message: `The server has no tool "${tool}". Its tools: ${known.join(", ") || "none"}.`,
	});
}

export function noInput(): InputError {
	return new InputError({
		code: "NOT_OFFERED",
		ran: "no",
		message: "MCP has no input streams: send the items as arguments.",
	});
}

function failed(
	tool: string,
	type: string,
	message: string,
	cause: unknown,
): ToolError {
	return new ToolError({
		ran: "maybe",
		message: `"${tool}" failed: ${message}`,
		cause,
		remote: { type, message },
	});
}
