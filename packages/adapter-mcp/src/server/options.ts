import {
	type Check,
	checkOptions,
	nonEmptyText,
	optional,
	wholeNumber,
} from "@snakepit/core/options";

/** A tool as its adapter describes it: `python().describe()` gives these. */
export interface ServedTool {
	readonly name: string;
	readonly description: string;
	/** One result, or chunks. */
	readonly shape: "unary" | "stream";
	/** Whether it reads an input stream: MCP has none, so it is not offered. */
	readonly readsInput: boolean;
	/** JSON Schema of the arguments, by name. */
	readonly argumentsSchema: unknown;
}

/** Serves Streamable HTTP on 127.0.0.1, under the path `/mcp`. */
export interface McpHttpOptions {
	/**
	 * The token that every request must carry, as `Authorization: Bearer TOKEN`: at least 32 characters that cannot be
	 * guessed.
	 */
	readonly token: string;
	/** A free one by default. */
	readonly port?: number | undefined;
}

/** What is served, and how. */
export interface ServeMcpOptions {
	/** What clients may call. Tools that read an input stream are left out. */
	readonly tools: readonly ServedTool[];
	/** How the server introduces itself. @default "snakepit" */
	readonly name?: string | undefined;
	/** Clients get the traceback of a failed tool, and the last output of a lost worker. @default false */
	readonly tracebacks?: boolean | undefined;
	/** Over HTTP; over this program's standard input and output by default. */
	readonly http?: McpHttpOptions | undefined;
}

export const SERVE_DEFAULTS = { name: "snakepit", tracebacks: false } as const;

const SHORTEST_TOKEN = 32;

const isBoolean: Check = (value) =>
	typeof value === "boolean" ? undefined : "must be true or false";

export const MCP_HTTP_CHECKS: Readonly<Record<keyof McpHttpOptions, Check>> = {
	token: (value) =>
		typeof value === "string" &&
		/^[\x21-\x7e]+$/.test(value) &&
		value.length >= SHORTEST_TOKEN
			? undefined
			: `must be a string of at least ${SHORTEST_TOKEN} visible ASCII characters`,
	port: optional(wholeNumber(0, 65_535)),
};

export const SERVE_CHECKS: Readonly<Record<keyof ServeMcpOptions, Check>> = {
	tools: (value) =>
		Array.isArray(value)
			? undefined
			: "must be an array of tools, as describe() of an adapter gives it",
	name: optional(nonEmptyText),
	tracebacks: optional(isBoolean),
	http: optional((value) =>
		typeof value === "object" ? undefined : "must be an object with a token",
	),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkServeOptions(options: ServeMcpOptions): void {
	checkOptions("serveMcp", options, SERVE_CHECKS);
	if (options.http !== undefined)
		checkOptions("serveMcp.http", options.http, MCP_HTTP_CHECKS);
}
