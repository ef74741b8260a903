import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
	type CallToolResult,
	CreateMessageRequestSchema,
	ElicitRequestSchema,
	ListRootsRequestSchema,
	type Progress,
} from "@modelcontextprotocol/sdk/types.js";
import {
	type Adapter,
	answerInParts,
	type CallOptions,
	type CallProgress,
	type Connection,
	callAborted,
	refuseInput,
	stdioSpec,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import { VERSION } from "./gen/version.ts";
import { checkMcpOptions, type McpOptions } from "./options.ts";
import { NO_TIME_LIMIT, ToolList, toolFailed, translate } from "./tool-list.ts";
import { WorkerTransport } from "./worker-transport.ts";

/**
 * Workers are MCP servers. A command is a tool, its result the `CallToolResult`;
 * `pool.use` gives the official client.
 *
 * @throws OptionsError.
 */
export function mcp(options: McpOptions): Adapter<Client> {
	checkMcpOptions(options);
	/** The tool lists of connected servers. */
	const lists = new Set<ToolList>();
	return {
		name: options.name ?? "mcp",
		madeFrom: options,
		launch: (slot) => stdioSpec(options, slot),
		connect: async (process, signal) => {
			const { tools, connection } = await converse(process, options, signal);
			lists.add(tools);
			void process.exited.then(() => lists.delete(tools));
			return connection;
		},
		describe: async (signal) => {
			const [tools] = lists;
			await tools?.load(signal);
			return tools?.descriptions ?? [];
		},
	};
}

async function converse(
	process: WorkerProcess,
	options: McpOptions,
	starting: AbortSignal,
): Promise<{ tools: ToolList; connection: Connection<Client> }> {
	const transport = new WorkerTransport(process);
	const client = clientOf(options);
	client.onerror = ({ message }) =>
		process.log({
			level: "warning",
			logger: "mcp",
			message,
			wallMs: Date.now(),
		});
	client.fallbackNotificationHandler = async ({ method, params }) =>
		process.notify(method, params);
	transport.onstray = (stray) => process.starting({ stray });
	process.starting({ awaits: 'the answer to "initialize"' });
	await client.connect(transport, { signal: starting, ...NO_TIME_LIMIT });
	const tools = new ToolList(client);
	process.starting({ awaits: 'the answer to "tools/list"' });
	await tools.load(starting);

	const call = async (
		tool: string,
		args: unknown,
		{
			signal,
			input,
			onProgress,
		}: Pick<CallOptions, "signal" | "input" | "onProgress">,
		asChunk?: (progress: Progress) => void,
	): Promise<CallToolResult> => {
		refuseInput({ input });
		if (signal.aborted) throw callAborted(tool, signal, "unused");
		// Reports are requested only if the caller reads them.
		const onprogress =
			(onProgress ?? asChunk) &&
			((progress: Progress) => {
				asChunk?.(progress);
				void onProgress?.(progressOf(progress));
			});
		try {
			await tools.mustHave(tool);
			const result = (await client.callTool(
				{ name: tool, arguments: args as Record<string, unknown> },
				undefined,
				{ signal, ...NO_TIME_LIMIT, ...(onprogress && { onprogress }) },
			)) as CallToolResult;
			if (result.isError === true) throw toolFailed(tool, result);
			return result;
		} catch (error) {
			if (!signal.aborted) throw translate(error, tool);
			// A cancelled request is never answered. A server that answers a ping can take the next one.
			await client.ping(NO_TIME_LIMIT).catch((gone: unknown) => {
				throw translate(gone, tool);
			});
			throw callAborted(tool, signal, "free");
		}
	};

	const connection: Connection<Client> = {
		client,
		facts: {
			server: client.getServerVersion(),
			capabilities: client.getServerCapabilities(),
			tools: tools.names,
		},
		execute: (tool, args, options) => call(tool, args, options),
		stream: (tool, args, options) =>
			// The protocol cannot make a server wait, but there are few reports.
			answerInParts(options, (signal, asChunk: (progress: Progress) => void) =>
				call(tool, args, { ...options, signal }, asChunk),
			),
		leave: async () => await client.close(),
		[Symbol.asyncDispose]: async () => await client.close(),
	};
	return { tools, connection };
}

function clientOf(options: McpOptions): Client {
	const { sampling, elicitation, roots } = options;
	const client = new Client(
		{ name: "snakepit", version: VERSION },
		{
			capabilities: {
				...(sampling && { sampling: {} }),
				...(elicitation && { elicitation: {} }),
				...(roots && { roots: {} }),
			},
		},
	);
	if (sampling)
		client.setRequestHandler(CreateMessageRequestSchema, ({ params }, extra) =>
			sampling(params, extra),
		);
	if (elicitation)
		client.setRequestHandler(ElicitRequestSchema, ({ params }, extra) =>
			elicitation(params, extra),
		);
	if (roots)
		client.setRequestHandler(ListRootsRequestSchema, () => ({
			roots: [...roots],
		}));
	return client;
}

const MOST_CHARACTERS = 1_000;

/** Converts a server's report of progress for the caller. Without a total, it has no fraction. */
export function progressOf({
	progress,
	total,
	message,
}: Progress): CallProgress {
	const fraction = total === undefined ? Number.NaN : progress / total;
	return {
		fraction: Number.isNaN(fraction)
			? undefined
			: Math.min(Math.max(fraction, 0), 1),
		message: message?.slice(0, MOST_CHARACTERS) ?? "",
	};
}
