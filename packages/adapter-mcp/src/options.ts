import type {
	CreateMessageRequest,
	CreateMessageResult,
	ElicitRequest,
	ElicitResult,
	Root,
} from "@modelcontextprotocol/sdk/types.js";
import { PROGRAM_CHECKS, type ProgramOptions } from "@snakepit/core/adapter";
import {
	aFunction,
	type Check,
	checkOptions,
	optional,
} from "@snakepit/core/options";

/** Answers a request of a server. `signal` aborts when the server cancels the request or the conversation ends. */
export type McpHandler<Request, Result> = (
	params: Request,
	context: { readonly signal: AbortSignal },
) => Result | Promise<Result>;

/** How a server is started, and what this program offers it. Also takes the options of `ProgramOptions`. */
export interface McpOptions extends ProgramOptions {
	/** Asks a model on behalf of the server. */
	readonly sampling?:
		| McpHandler<CreateMessageRequest["params"], CreateMessageResult>
		| undefined;
	/** Asks a person on behalf of the server. */
	readonly elicitation?:
		| McpHandler<ElicitRequest["params"], ElicitResult>
		| undefined;
	/** The directories that the server may work in. */
	readonly roots?: readonly Root[] | undefined;
}

export const MCP_CHECKS: Readonly<Record<keyof McpOptions, Check>> = {
	...PROGRAM_CHECKS,
	sampling: optional(aFunction),
	elicitation: optional(aFunction),
	roots: optional((value) =>
		Array.isArray(value) ? undefined : "must be an array of roots",
	),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkMcpOptions(options: unknown): void {
	checkOptions("mcp", options, MCP_CHECKS);
}
