import { PassThrough } from "node:stream";
import { InputError } from "@snakepit/core";
import {
	type Adapter,
	type CallOptions,
	type Connection,
	programSpec,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import { checkJsonRpcOptions } from "./check-options.ts";
import type { JsonRpcClient } from "./json-rpc-client.ts";
import { JsonRpcConversation } from "./json-rpc-conversation.ts";
import type { JsonRpcOptions } from "./options.ts";

/**
 * Workers are programs that speak JSON-RPC 2.0 on standard input and output. A
 * command is a method, its arguments are the params; `pool.use` gives a
 * `JsonRpcClient`.
 *
 * @throws OptionsError.
 */
export function jsonRpc(options: JsonRpcOptions): Adapter<JsonRpcClient> {
	checkJsonRpcOptions(options);
	return {
		name: options.name ?? "json-rpc",
		launch: (slot) => ({ ...programSpec(options, slot), stdio: "adapter" }),
		connect: async (process, signal) =>
			await converse(process, options, signal),
	};
}

async function converse(
	process: WorkerProcess,
	options: JsonRpcOptions,
	starting: AbortSignal,
): Promise<Connection<JsonRpcClient>> {
	const conversation = new JsonRpcConversation(process, options);
	const { peer } = conversation;
	const client: JsonRpcClient = {
		request: (method, params, { signal = NEVER, onPart } = {}) =>
			conversation.request({ method, params, signal, onPart }),
		notify: (method, params) => peer.notify(method, params),
	};
	const facts = await options.ready?.(client, starting);
	const execute = async (
		method: string,
		params: unknown,
		{ signal, input }: CallOptions,
		onPart?: (part: unknown) => void,
	): Promise<unknown> => {
		if (input !== undefined) throw noInput();
		return await conversation.request({ method, params, signal, onPart });
	};
	return {
		client,
		...(facts !== undefined && { facts }),
		execute: (method, params, call) => execute(method, params, call),
		...(options.progress !== undefined && {
			stream: (method: string, params: unknown, call: CallOptions) =>
				streamed(peer, call, (signal, onPart) =>
					execute(method, params, { ...call, signal }, onPart),
				),
		}),
		leave: async () => {
			await options.leave?.(client);
			process.stdin?.end();
		},
		[Symbol.asyncDispose]: async () => peer.end("its conversation was closed"),
	};
}

/** The parts of a result, and then the result. A consumer that waits makes the program wait. */
async function* streamed(
	output: { pause(): void; resume(): void },
	call: CallOptions,
	ask: (
		signal: AbortSignal,
		onPart: (part: unknown) => void,
	) => Promise<unknown>,
): AsyncGenerator<unknown, unknown> {
	const closed = new AbortController();
	const parts = new PassThrough({ objectMode: true });
	parts.on("drain", () => output.resume());
	const answer = ask(
		AbortSignal.any([call.signal, closed.signal]),
		// Within an array, for a stream of objects has no null.
		(part) => {
			if (!parts.destroyed && !parts.write([part])) output.pause();
		},
	);
	answer.catch(() => {}).finally(() => parts.end());
	try {
		for await (const [part] of parts) yield part;
		return await answer;
	} finally {
		closed.abort();
		output.resume();
		await answer.catch(() => {}); // Only now is the worker free.
	}
}

const NEVER = new AbortController().signal;

function noInput(): InputError {
	return new InputError({
		code: "NOT_OFFERED",
		ran: "no",
		message: "JSON-RPC has no input streams: send the items as params.",
	});
}
