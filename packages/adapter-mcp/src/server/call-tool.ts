import {
	type CallToolResult,
	ErrorCode,
} from "@modelcontextprotocol/sdk/types.js";
import {
	type CallStream,
	type Pool,
	SnakepitError,
	ToolError,
} from "@snakepit/core";
import { asText, fromJson, toJson } from "./json-values.ts";
import type { ServedTool } from "./options.ts";
import type { ProgressSender } from "./progress-sender.ts";
import { requestError } from "./request-error.ts";

/** Settings of one call and its reports. */
export interface CallSetting {
	readonly signal: AbortSignal;
	readonly tracebacks: boolean;
	/** `undefined` when the client did not ask for reports. */
	readonly progress: ProgressSender | undefined;
}

/** An endless stream must not fill the memory: its chunks are kept for the result. */
const MOST_CHARACTERS = 2 ** 24;

/** Calls a tool for a client. A failure of the tool or the pool becomes a result with `isError`. */
export async function callTool(
	pool: Pool,
	tool: ServedTool,
	args: unknown,
	setting: CallSetting,
): Promise<CallToolResult> {
	const given = fromJson(args ?? {}, tool.argumentsSchema);
	const { signal, progress } = setting;
	const options = { signal, onProgress: progress?.report };
	try {
		const result =
			tool.shape === "stream"
				? await streamed(pool.stream(tool.name, given, options), tool, progress)
				: answered(await pool.execute(tool.name, given, options));
		await progress?.sent();
		return result;
	} catch (error) {
		if (!(error instanceof SnakepitError)) throw error;
		if (error.code === "TOOL_NOT_FOUND")
			throw requestError(ErrorCode.InvalidParams, error.message);
		const text = failureText(error, setting.tracebacks);
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
