import { InputError } from "@snakepit/core";
import {
	callAborted,
	messageOf,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import { contentLengthFraming } from "../framing/content-length-framing.ts";
import { lineFraming } from "../framing/line-framing.ts";
import { STDIO_DEFAULTS } from "../stdio-options.ts";
import { ConversationEnded, JsonRpcPeer } from "./json-rpc-peer.ts";
import {
	JSON_RPC_DEFAULTS,
	type JsonRpcHandler,
	type JsonRpcOptions,
	type JsonRpcProgress,
} from "./options.ts";
import { translate } from "./translate-error.ts";

/** One request, as its caller makes it. */
export interface JsonRpcRequest {
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
export class JsonRpcConversation {
	readonly peer: JsonRpcPeer;
	readonly #process: WorkerProcess;
	readonly #options: JsonRpcOptions;
	/** By token. */
	readonly #parts = new Map<unknown, (part: unknown) => void>();
	#tokens = 0;

	constructor(process: WorkerProcess, options: JsonRpcOptions) {
		const { stdin, stdout } = process;
		if (stdin === undefined || stdout === undefined)
			throw new TypeError("The process has no standard input and output.");
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
				garbage: (text) => this.#garbage(text),
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
		const asked =
			progress !== undefined && onPart !== undefined
				? askForParts(progress, params, token)
				: params;
		if (onPart !== undefined) this.#parts.set(token, onPart);
		let cancel = (): void => {};
		try {
			return await this.peer.request(method, asked, (id) => {
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

	#garbage(text: string): void {
		const shown = JSON.stringify(text.slice(0, 200));
		this.#process.starting({ stray: text });
		if (this.#options.onGarbage === "break") {
			const why = `it wrote something that is not JSON-RPC: ${shown}`;
			this.peer.end(why);
			this.#process.broken(new Error(why));
		} else this.#log(`no JSON-RPC on standard output: ${shown}`);
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
