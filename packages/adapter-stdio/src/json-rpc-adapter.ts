import { InputError } from "@snakepit/core";
import {
	type Adapter,
	answerInParts,
	type CallOptions,
	type Connection,
	callAborted,
	messageOf,
	refuseInput,
	stdioOf,
	stdioSpec,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import { contentLengthFraming, lineFraming } from "./framing.ts";
import {
	checkJsonRpcOptions,
	JSON_RPC_DEFAULTS,
	type JsonRpcClient,
	type JsonRpcHandler,
	type JsonRpcOptions,
	type JsonRpcProgress,
} from "./json-rpc-options.ts";
import { ConversationEnded, JsonRpcPeer, translate } from "./json-rpc-peer.ts";
import { STDIO_DEFAULTS } from "./stdio-options.ts";

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
		launch: (slot) => stdioSpec(options, slot),
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
		call: CallOptions,
		onPart?: (part: unknown) => void,
	): Promise<unknown> => {
		refuseInput(call);
		const { signal } = call;
		return await conversation.request({ method, params, signal, onPart });
	};
	return {
		client,
		...(facts !== undefined && { facts }),
		execute: (method, params, call) =>
			execute(method, params, call, reportsTo(call.onProgress, options)),
		...(options.progress !== undefined && {
			stream: (method: string, params: unknown, call: CallOptions) =>
				answerInParts(
					call,
					(signal, onPart) =>
						execute(method, params, { ...call, signal }, onPart),
					peer,
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

/** One request, as its caller makes it. */
interface JsonRpcRequest {
	readonly method: string;
	readonly params: unknown;
	readonly signal: AbortSignal;
	/** If present, parts are requested. */
	readonly onPart?: ((part: unknown) => void) | undefined;
}

const FRAMINGS = {
	lines: lineFraming,
	"content-length": contentLengthFraming,
} as const;

/** @throws InputError if the option `progress.ask` throws. */
function askForParts(
	progress: JsonRpcProgress,
	params: unknown,
	token: number,
): unknown {
	try {
		return progress.ask(params, token);
	} catch (cause) {
		throw new InputError({
			code: "INVALID_ARGUMENTS",
			ran: "no",
			message: `The option progress.ask failed, so nothing was sent: ${messageOf(cause)}`,
			cause,
		});
	}
}

/** A conversation with one worker, by the rules of one protocol. */
class JsonRpcConversation {
	readonly peer: JsonRpcPeer;
	readonly #process: WorkerProcess;
	readonly #options: JsonRpcOptions;
	/** By token. */
	readonly #parts = new Map<unknown, (part: unknown) => void>();
	#tokens = 0;

	constructor(process: WorkerProcess, options: JsonRpcOptions) {
		const { stdin, stdout } = stdioOf(process);
		this.#process = process;
		this.#options = options;
		this.peer = new JsonRpcPeer(
			stdin,
			stdout,
			FRAMINGS[options.framing ?? JSON_RPC_DEFAULTS.framing],
			options.maxMessageBytes ?? STDIO_DEFAULTS.maxMessageBytes,
			{
				request: (method, params, signal) =>
					this.#handler(method) && this.#handle(method, params, signal),
				notification: (method, params) => this.#notified(method, params),
				invalid: (text) => this.#invalid(text),
				stray: (text) => process.starting({ stray: text }),
				broken: (why) => process.broken(new Error(why)),
			},
		);
		void process.exited.then(() => this.peer.end("it has ended"));
	}

	/** Settles when the worker has finished with the request, as far as that can be known. */
	async request(request: JsonRpcRequest): Promise<unknown> {
		const { method, signal } = request;
		if (signal.aborted) throw callAborted(method, signal, "unused");
		try {
			return await this.#ask(request);
		} catch (error) {
			throw signal.aborted && !(error instanceof ConversationEnded)
				? callAborted(method, signal, this.#afterCancel)
				: translate(error, method);
		}
	}

	get #afterCancel(): "free" | "unknown" {
		return this.#options.cancelled === "unknown" ? "unknown" : "free";
	}

	async #ask({
		method,
		params,
		signal,
		onPart,
	}: JsonRpcRequest): Promise<unknown> {
		const { progress } = this.#options;
		const token = ++this.#tokens;
		const sentParams =
			progress !== undefined && onPart !== undefined
				? askForParts(progress, params, token)
				: params;
		if (onPart !== undefined) this.#parts.set(token, onPart);
		let cancel = (): void => {};
		try {
			return await this.peer.request(method, sentParams, (id) => {
				cancel = () => this.#cancel(id, signal);
				signal.addEventListener("abort", cancel, { once: true });
			});
		} finally {
			signal.removeEventListener("abort", cancel);
			this.#parts.delete(token);
		}
	}

	/** Runs as a listener of the caller's signal, where an error would end the host. */
	#cancel(id: number, { reason }: AbortSignal): void {
		try {
			this.#askToCancel(id, reason);
		} catch (error) {
			this.#log(
				`the option cancel failed, so the program was not asked to cancel request ${id}: ${messageOf(error)}`,
			);
		}
		const { cancelled } = this.#options;
		if ((cancelled ?? JSON_RPC_DEFAULTS.cancelled) !== "answered")
			this.peer.forget(id, new Error("cancelled"));
	}

	#askToCancel(id: number, reason: unknown): void {
		const { cancel } = this.#options;
		if (cancel === "none") return;
		const { method, params } =
			cancel === undefined
				? { method: "$/cancelRequest", params: { id } }
				: cancel(id, reason);
		this.peer.notify(method, params);
	}

	#handler(method: string): JsonRpcHandler | undefined {
		const { handlers } = this.#options;
		return handlers !== undefined && Object.hasOwn(handlers, method)
			? handlers[method]
			: undefined;
	}

	async #handle(
		method: string,
		params: unknown,
		signal: AbortSignal,
	): Promise<unknown> {
		return await this.#handler(method)?.(params, { signal });
	}

	#notified(method: string, params: unknown): void {
		if (this.#tookPart(method, params)) return;
		if (this.#handler(method) === undefined)
			this.#process.notify(method, params);
		else
			this.#handle(method, params, new AbortController().signal).catch(
				(error: unknown) =>
					this.#log(`the handler of ${method} failed: ${messageOf(error)}`),
			);
	}

	/** Whether the notification was about parts. The program decides its content, so an error in reading it must not end the host. */
	#tookPart(method: string, params: unknown): boolean {
		try {
			const part = this.#options.progress?.read(method, params);
			const onPart =
				part === undefined ? undefined : this.#parts.get(part.token);
			if (part === undefined || onPart === undefined) return false;
			onPart(part.value);
		} catch (error) {
			this.#log(`the option progress failed at ${method}: ${messageOf(error)}`);
		}
		return true;
	}

	#invalid(text: string): void {
		const excerpt = JSON.stringify(text.slice(0, 200));
		this.#process.starting({ stray: text });
		this.#log(`no JSON-RPC on standard output: ${excerpt}`);
	}

	#log(message: string): void {
		this.#process.log({
			level: "warning",
			logger: "json-rpc",
			message,
			wallMs: Date.now(),
		});
	}
}
