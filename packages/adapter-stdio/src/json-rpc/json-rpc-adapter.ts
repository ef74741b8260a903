import { InputError } from "@snakepit/core";
import {
	type Adapter,
	type CallOptions,
	type Connection,
	programSpec,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import { answerInParts } from "../answer-in-parts.ts";
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
		madeFrom: options,
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
		request: (method, params, { signal = NEVER, onPart } = {}) => {
			process.starting({ awaits: `the answer to ${JSON.stringify(method)}` });
			return conversation.request({ method, params, signal, onPart });
		},
		notify: (method, params) => peer.notify(method, params),
	};
	process.starting({ awaits: "the option ready, which has not returned" });
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
		execute: (method, params, call) =>
			execute(method, params, call, reportsTo(call.onProgress, options)),
		...(options.progress !== undefined && {
			stream: (method: string, params: unknown, call: CallOptions) =>
				answerInParts(peer, call, (signal, onPart) =>
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

/** Takes the parts of a request whose caller wants its progress. */
function reportsTo(
	onProgress: CallOptions["onProgress"],
	{ progress }: JsonRpcOptions,
): ((part: unknown) => void) | undefined {
	if (onProgress === undefined || progress?.report === undefined)
		return undefined;
	return (part) => {
		const report = progress.report?.(part);
		if (report === undefined) return;
		const { fraction, message = "" } = report;
		void onProgress({ fraction, message });
	};
}

const NEVER = new AbortController().signal;

function noInput(): InputError {
	return new InputError({
		code: "NOT_OFFERED",
		ran: "no",
		message: "JSON-RPC has no input streams: send the items as params.",
	});
}
