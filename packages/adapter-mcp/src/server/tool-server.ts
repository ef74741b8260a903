import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
	CallToolRequestSchema,
	ErrorCode,
	ListToolsRequestSchema,
	type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import type { Pool } from "@snakepit/core";
import { VERSION } from "../gen/version.ts";
import { callTool } from "./call-tool.ts";
import {
	SERVE_DEFAULTS,
	type ServedTool,
	type ServeMcpOptions,
} from "./options.ts";
import { ProgressSender } from "./progress-sender.ts";
import { requestError } from "./request-error.ts";

/** A server for one client, not connected yet. */
export function toolServer(
	pool: Pool,
	{
		tools,
		name = SERVE_DEFAULTS.name,
		version = VERSION,
		tracebacks = SERVE_DEFAULTS.tracebacks,
	}: ServeMcpOptions,
): Server {
	const offered = new Map(
		tools
			.filter(({ takesInput }) => !takesInput)
			.map((tool) => [tool.name, tool]),
	);
	const server = new Server(
		{ name, version },
		{ capabilities: { tools: {}, logging: {} } },
	);
	server.setRequestHandler(ListToolsRequestSchema, () => ({
		tools: [...offered.values()].map(listed),
	}));
	server.setRequestHandler(
		CallToolRequestSchema,
		({ params }, { signal, sendNotification, _meta }) => {
			const tool = offered.get(params.name);
			if (tool === undefined)
				throw requestError(
					ErrorCode.InvalidParams,
					`There is no tool "${params.name}". Known tools: ${[...offered.keys()].join(", ") || "none"}.`,
				);
			const progressToken = _meta?.progressToken;
			const progress =
				progressToken === undefined
					? undefined
					: new ProgressSender(
							(parameters) =>
								sendNotification({
									method: "notifications/progress",
									params: { progressToken, ...parameters },
								}),
							tool.shape,
						);
			return callTool(pool, tool, params.arguments, {
				signal,
				tracebacks,
				progress,
			});
		},
	);
	return server;
}

function listed({ name, description, argumentsSchema }: ServedTool): Tool {
	return {
		name,
		...(description === "" ? {} : { description }),
		inputSchema: { ...(argumentsSchema as object), type: "object" },
	};
}
