import type {
	ClientCapabilities,
	CreateMessageRequest,
	CreateMessageResult,
	ElicitRequest,
	ElicitResult,
	Implementation,
	Root,
} from "@modelcontextprotocol/sdk/types.js";
import {
	aFunction,
	type Check,
	checkOptions,
	nonEmptyText,
	optional,
} from "@snakepit/core/options";

/** How a server is started. */
export interface McpServerOptions {
	/** The server and its arguments, as `["npx", "-y", "@modelcontextprotocol/server-everything"]`. No shell reads it. */
	readonly command: readonly string[];
	/** Appears in names of pools and workers; `mcp` by default. Lower case; 1 to 40 letters, digits, dots, dashes or underscores. */
	readonly name?: string | undefined;
	/** The working directory; by default the one of this program. */
	readonly cwd?: string | undefined;
	/** Added to what is inherited; `undefined` removes a variable. */
	readonly env?: Readonly<Record<string, string | undefined>> | undefined;
	/**
	 * What the server inherits of this program's environment: `"minimal"`, no secrets: `PATH`, `HOME`, the locale and the
	 * like; these names too; or `"all"`. Left out it is `"minimal"`.
	 */
	readonly inheritEnv?: "all" | "minimal" | readonly string[] | undefined;
}

/** Answers what a server asks. `signal` aborts when the server cancels it or the conversation ends. */
export type McpHandler<Request, Result> = (
	params: Request,
	context: { readonly signal: AbortSignal },
) => Result | Promise<Result>;

/** What this program is and offers to servers. Takes what `McpServerOptions` has, too. */
export interface McpOptions extends McpServerOptions {
	/** How this program introduces itself; as Snakepit by default. */
	readonly clientInfo?: Implementation | undefined;
	/** Further capabilities, beside those that follow from the handlers. */
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

export const SERVER_CHECKS: Readonly<Record<keyof McpServerOptions, Check>> = {
	command: (value) =>
		isTexts(value) && value.length > 0
			? undefined
			: "must be an array of strings that begins with the server's program",
	name: optional(nonEmptyText),
	cwd: optional(nonEmptyText),
	env: optional((value) =>
		typeof value === "object" && value !== null
			? undefined
			: "must be an object with string values",
	),
	inheritEnv: optional((value) =>
		value === "all" || value === "minimal" || isTexts(value)
			? undefined
			: 'must be "all", "minimal" or an array of names',
	),
};

const anObject: Check = (value) =>
	typeof value === "object" && value !== null ? undefined : "must be an object";

export const MCP_CHECKS: Readonly<Record<keyof McpOptions, Check>> = {
	...SERVER_CHECKS,
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

function isTexts(value: unknown): value is readonly string[] {
	return (
		Array.isArray(value) && value.every((each) => typeof each === "string")
	);
}
