import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
	type CallToolResult,
	ErrorCode,
	McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { InputError, SnakepitError, ToolError } from "@snakepit/core";
import {
	type CommandDescription,
	ConnectionBrokenError,
} from "@snakepit/core/adapter";

/**
 * For requests to a server: the pool sets deadlines. The client's default would fail a long call, or a long start,
 * after a minute.
 */
export const NO_TIME_LIMIT: { readonly timeout: number } = {
	timeout: 2 ** 31 - 1,
};

/** The most pages of a list, so that a server with an endless list cannot cause endless requests. */
const MOST_PAGES = 100;

/** The tools of one server, requested again when they may have changed. */
export class ToolList {
	readonly #client: Client;
	#tools: ReadonlyMap<string, CommandDescription> = new Map();

	constructor(client: Client) {
		this.#client = client;
	}

	get names(): readonly string[] {
		return [...this.#tools.keys()];
	}

	get descriptions(): readonly CommandDescription[] {
		return [...this.#tools.values()];
	}

	async load(signal?: AbortSignal): Promise<void> {
		if (this.#client.getServerCapabilities()?.tools === undefined) return;
		const tools = new Map<string, CommandDescription>();
		let cursor: string | undefined;
		for (let page = 0; page < MOST_PAGES; page++) {
			const listed = await this.#client.listTools(
				cursor === undefined ? {} : { cursor },
				{ ...NO_TIME_LIMIT, ...(signal && { signal }) },
			);
			for (const { name, description = "", inputSchema } of listed.tools)
				tools.set(name, {
					...{ name, description, argumentsSchema: inputSchema },
				});
			cursor = listed.nextCursor;
			if (cursor === undefined) break;
		}
		this.#tools = tools;
	}

	/** @throws InputError `TOOL_NOT_FOUND`, if the server does not have it now. */
	async mustHave(tool: string): Promise<void> {
		if (this.#tools.has(tool)) return;
		await this.load();
		if (!this.#tools.has(tool)) throw unknownTool(tool, this.names);
	}
}

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

function unknownTool(tool: string, known: readonly string[]): InputError {
	return new InputError({
		code: "TOOL_NOT_FOUND",
		ran: "no",
		message: `The server has no tool "${tool}". Its tools: ${known.join(", ") || "none"}.`,
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
