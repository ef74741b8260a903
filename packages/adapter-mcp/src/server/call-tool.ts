import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
	CallToolRequestSchema,
	type CallToolResult,
	ErrorCode,
	ListToolsRequestSchema,
	type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import {
	type CallProgress,
	type CallStream,
	type Pool,
	SnakepitError,
	ToolError,
} from "@snakepit/core";
import { VERSION } from "../gen/version.ts";
import { asText, fromJson, toJson } from "./json-values.ts";
import {
	SERVE_DEFAULTS,
	type ServedTool,
	type ServeMcpOptions,
} from "./options.ts";

/** A server for one client, not connected yet. */
export function toolServer(
	pool: Pool,
	{
		tools,
		name = SERVE_DEFAULTS.name,
		tracebacks = SERVE_DEFAULTS.tracebacks,
	}: ServeMcpOptions,
): Server {
	const offered = new Map(
		tools
			.filter(({ readsInput }) => !readsInput)
			.map((tool) => [tool.name, tool]),
	);
	const server = new Server(
		{ name, version: VERSION },
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

/** The client's side of one call. */
interface ServedCall {
	readonly signal: AbortSignal;
	readonly tracebacks: boolean;
	/** `undefined` when the client did not ask for reports. */
	readonly progress: ProgressSender | undefined;
}

/** An endless stream must not fill the memory: its chunks are kept for the result. */
const MOST_CHARACTERS = 2 ** 24;

/** Calls a tool for a client. A failure of the tool or the pool becomes a result with `isError`. */
async function callTool(
	pool: Pool,
	tool: ServedTool,
	args: unknown,
	call: ServedCall,
): Promise<CallToolResult> {
	const converted = fromJson(args ?? {}, tool.argumentsSchema);
	const { signal, progress } = call;
	const options = { signal, onProgress: progress?.report };
	try {
		const result =
			tool.shape === "stream"
				? await streamed(
						pool.stream(tool.name, converted, options),
						tool,
						progress,
					)
				: answered(await pool.execute(tool.name, converted, options));
		await progress?.sent();
		return result;
	} catch (error) {
		if (!(error instanceof SnakepitError)) throw error;
		if (error.code === "TOOL_NOT_FOUND")
			throw requestError(ErrorCode.InvalidParams, error.message);
		const text = failureText(error, call.tracebacks);
		return { isError: true, content: [{ type: "text", text }] };
	}
}

function answered(value: unknown): CallToolResult {
	const json = toJson(value);
	const isObject =
		typeof json === "object" && json !== null && !Array.isArray(json);
	return {
		content: [{ type: "text", text: asText(value) }],
		...(isObject ? { structuredContent: { ...json } } : {}),
	};
}

async function streamed(
	stream: CallStream<unknown>,
	{ name }: ServedTool,
	progress: ProgressSender | undefined,
): Promise<CallToolResult> {
	const texts: string[] = [];
	let characters = 0;
	for await (const chunk of stream) {
		const text = asText(chunk);
		characters += text.length;
		if (characters > MOST_CHARACTERS)
			return {
				isError: true,
				content: [
					{
						type: "text",
						text: `"${name}" was cancelled: its chunks have more than ${MOST_CHARACTERS} characters.`,
					},
				],
			};
		texts.push(text);
		await progress?.chunk(text);
	}
	const result = await stream.result;
	if (result !== undefined && result !== null) texts.push(asText(result));
	return { content: texts.map((text) => ({ type: "text", text })) };
}

function failureText(error: SnakepitError, tracebacks: boolean): string {
	if (error instanceof ToolError) {
		const { type, message, traceback } = error.remote;
		return (tracebacks ? traceback : undefined) ?? `${type}: ${message}`;
	}
	// Further lines are output of a worker.
	const [first = ""] = error.message.split("\n");
	return `${error.code}: ${tracebacks ? error.message : first}`;
}

/** MCP requires `progress` to increase with each notification. */
export interface ProgressParameters {
	readonly progress: number;
	readonly total?: number;
	readonly message: string;
}

type Send = (parameters: ProgressParameters) => Promise<void>;

/** If a tool reports no greater fraction than before, only its message is new. */
const SMALLEST_STEP = 1e-6;

/** Sends the progress of one call to a client that asked for it. */
export class ProgressSender {
	readonly #send: Send;
	readonly #next: (
		fraction: number | undefined,
	) => Omit<ProgressParameters, "message">;
	#newest: CallProgress | undefined;
	#sending: Promise<void> | undefined;

	/** @param shape Chunks of a stream have no total, so chunks and reports are counted. */
	constructor(send: Send, shape: "unary" | "stream") {
		this.#send = send;
		this.#next = shape === "stream" ? counted() : measured();
	}

	/** Resolves when it is sent. */
	async chunk(text: string): Promise<void> {
		await this.#send({ ...this.#next(undefined), message: text });
	}

	/** Sends a report; while one is being sent, only the newest waits. */
	readonly report = (progress: CallProgress): void => {
		this.#newest = progress;
		this.#sending ??= this.#sendNewest();
	};

	/** Resolves when all reports are sent. */
	async sent(): Promise<void> {
		await this.#sending;
	}

	async #sendNewest(): Promise<void> {
		while (this.#newest !== undefined) {
			const { fraction, message } = this.#newest;
			this.#newest = undefined;
			// If the client is gone, its call is cancelled, and it needs no report.
			await this.#send({ ...this.#next(fraction), message }).catch(() => {});
		}
		this.#sending = undefined;
	}
}

function counted() {
	let count = 0;
	return () => ({ progress: ++count });
}

function measured() {
	let last = -SMALLEST_STEP;
	return (fraction: number | undefined) => {
		last = Math.max(fraction ?? 0, last + SMALLEST_STEP);
		return fraction === undefined
			? { progress: last }
			: { progress: last, total: 1 };
	};
}

/** Answers a request with an error. The SDK's McpError would add its prefix to the message, and clients add it again. */
function requestError(code: ErrorCode, message: string): Error {
	return Object.assign(new Error(message), { code });
}
