import { setTimeout as pause } from "node:timers/promises";
import { CallAbortedError, ToolError } from "@snakepit/core";
import {
	type Adapter,
	type CallOptions,
	ConnectionBrokenError,
} from "@snakepit/core/adapter";
import { whyNoReceiver } from "../otlp/receiver.ts";
import { type ViewerPorts, viewerFlags, viewerUrls } from "./viewer.ts";

/** It does not say when it listens. */
const LOOK_EVERY_MS = 50;
/** How long one look may take: while it takes, nothing is given up. */
const LOOK_WITHIN_MS = 1_000;

/**
 * The viewer as a worker: a program that knows nothing of Snakepit. Its commands
 * are the methods of its JSON-RPC.
 *
 * @param given - Aborts a start that nobody waits for any more.
 */
export function viewerAdapter(
	executable: string,
	ports: ViewerPorts,
	given: AbortSignal,
): Adapter {
	const { otlp, page } = viewerUrls(ports);
	return {
		name: "otel-viewer",
		launch: ({ directory }) => ({
			executable,
			args: viewerFlags(ports),
			// Should its database run out of memory, it writes beside itself.
			cwd: directory,
		}),
		async connect(_process, signal) {
			const either = AbortSignal.any([signal, given]);
			while ((await whyNoReceiver(otlp, LOOK_WITHIN_MS)) !== undefined)
				await pause(LOOK_EVERY_MS, undefined, { signal: either });
			// Its page listened before.
			const execute = (
				command: string,
				args: unknown,
				options: Pick<CallOptions, "signal">,
			) => askViewer(page, command, args, options.signal);
			await execute("getStats", [], { signal: either });
			return { execute, async [Symbol.asyncDispose]() {} };
		},
	};
}

async function askViewer(
	page: string,
	method: string,
	params: unknown,
	signal: AbortSignal,
): Promise<unknown> {
	const { result, error } = await post(
		`${page}rpc`,
		{ jsonrpc: "2.0", id: 1, method, params },
		signal,
	);
	if (error === undefined) return result;
	throw new ToolError({
		code: "TOOL_FAILED",
		ran: "maybe",
		message: `The viewer answers ${method} with error ${error.code}: ${error.message}`,
		remote: {
			type: "JSON-RPC error",
			message: error.message,
			traceback: "",
			notes: [],
			frames: [],
			cause: undefined,
		},
	});
}

interface Answer {
	readonly result?: unknown;
	readonly error?: { readonly code: number; readonly message: string };
}

async function post(
	url: string,
	question: object,
	signal: AbortSignal,
): Promise<Answer> {
	try {
		const response = await fetch(url, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(question),
			signal,
		});
		return (await response.json()) as Answer;
	} catch (error) {
		if (signal.aborted)
			throw new CallAbortedError({
				code: "CALL_ABORTED",
				ran: "maybe",
				message: `Nobody waits any more for the answer of ${url}.`,
				cause: error,
			});
		throw new ConnectionBrokenError({
			code: "CONNECTION_BROKEN",
			ran: "maybe",
			message: `No JSON came from ${url}: ${(error as Error).message}`,
			cause: error,
		});
	}
}
