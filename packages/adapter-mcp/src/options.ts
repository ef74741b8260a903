import type {
	ClientCapabilities,
	CreateMessageRequest,
	CreateMessageResult,
	ElicitRequest,
	ElicitResult,
	Implementation,
	Root,
} from "@modelcontextprotocol/sdk/types.js";
import { PROGRAM_CHECKS, type ProgramOptions } from "@snakepit/core/adapter";
import {
	aFunction,
	anObject,
	type Check,
	checkOptions,
	optional,
} from "@snakepit/core/options";

/** Answers a request of a server. `signal` aborts when the server cancels the request or the conversation ends. */
export type McpHandler<Request, Result> = (
	params: Request,
	context: { readonly signal: AbortSignal },
) => Result | Promise<Result>;

/**
 * How this program introduces itself to servers, and what it offers them. Also takes the options of `ProgramOptions`.
 */
export interface McpOptions extends ProgramOptions {
	/** How this program introduces itself; by default, as Snakepit. */
	readonly clientInfo?: Implementation | undefined;
	/** Further capabilities, in addition to those that the handlers imply. */
	readonly capabilities?: ClientCapabilities | undefined;
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
	clientInfo: optional(anObject),
	capabilities: optional(anObject),
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
