import {
	type Adapter,
	answerInParts,
	type CallOptions,
	type Connection,
	refuseInput,
	stdioSpec,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import type * as protocol from "vscode-languageserver-protocol/node";
import type { ProtocolConnection } from "vscode-languageserver-protocol/node";
import { LspConversation, type LspPart } from "./conversation.ts";
import { DocumentStore, type LspDocuments } from "./documents.ts";
import { checkLspOptions, type LspOptions } from "./options.ts";

/** Workers are language servers that all have the same documents open. */
export interface LspAdapter extends Adapter<ProtocolConnection> {
	readonly documents: LspDocuments;
}

/**
 * Workers are language servers. A command is a request of the protocol, as
 * `textDocument/hover`; `pool.use` gives the connection of the protocol's library.
 *
 * @throws OptionsError.
 */
export function lsp(options: LspOptions): LspAdapter {
	checkLspOptions(options);
	const documents = new DocumentStore(options.maxMessageBytes);
	return {
		name: options.name ?? "lsp",
		madeFrom: options,
		documents,
		launch: (slot) => stdioSpec(options, slot),
		connect: (process) => converse(process, options, documents),
	};
}

async function converse(
	process: WorkerProcess,
	options: LspOptions,
	documents: DocumentStore,
): Promise<Connection<ProtocolConnection>> {
	const conversation = new LspConversation(process, options, documents);
	const { serverInfo, capabilities } = await conversation.initialize(documents);
	const request = async (
		method: string,
		params: unknown,
		call: Pick<CallOptions, "signal" | "input" | "onProgress">,
		onPart?: (part: LspPart) => void,
	): Promise<unknown> => {
		refuseInput(call);
		return await conversation.request(method, params, call, onPart);
	};
	return {
		client: conversation.connection,
		facts: { server: serverInfo, capabilities },
		execute: (method, params, call) => request(method, params, call),
		stream: (method, params, call) =>
			answerInParts(
				call,
				(signal, onPart: (part: LspPart) => void) =>
					request(method, params, { ...call, signal }, onPart),
				conversation.output,
			),
		leave: () => conversation.leave(),
		[Symbol.asyncDispose]: async () =>
			conversation.end("its conversation was closed"),
	};
}

type Protocol = typeof protocol;

/** A request as the protocol's library describes it; a request without parameters has no `P`. */
type RequestOf<Described> = Described extends {
	readonly method: infer Method extends string;
	readonly type: infer Type;
}
	? Type extends protocol.ProtocolRequestType<
			infer Params,
			infer Result,
			infer _Partial,
			infer _Error,
			infer _Options
		>
		? { readonly method: Method; call(params: Params): Result }
		: Type extends protocol.ProtocolRequestType0<
					infer Result,
					infer _Partial,
					infer _Error,
					infer _Options
				>
			? { readonly method: Method; call(): Result }
			: never
	: never;

type Described = RequestOf<Protocol[keyof Protocol]>;

/**
 * The requests of the protocol, for `createPool<LspRequests, ProtocolConnection>`: what each command of `pool.execute`
 * takes and answers.
 */
export type LspRequests = {
	readonly [Request in Described as Request["method"]]: Request["call"];
};
