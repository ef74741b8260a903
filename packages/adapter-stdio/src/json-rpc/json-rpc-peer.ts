import { finished, type Readable, type Writable } from "node:stream";
import { jsonLine, messageOf } from "@snakepit/core/adapter";
import { type Framing, FramingError } from "../framing/framing.ts";
import { type Failure, type Id, readMessage } from "./message.ts";

/** The other side answered a request with an error. */
export class Fault extends Error {
	override readonly name = "Fault";
	/** As JSON-RPC and the protocol define them: -32601 is an unknown method. */
	readonly code: Failure["code"];
	readonly data: unknown;

	constructor({ code, message, data }: Failure) {
		super(message);
		this.code = code;
		this.data = data;
	}
}

/** The conversation is over. */
export class ConversationEnded extends Error {
	override readonly name = "ConversationEnded";
	/** Whether the request may have reached the other side. */
	readonly sent: "no" | "maybe";

	constructor(why: string, sent: "no" | "maybe") {
		super(why);
		this.sent = sent;
	}
}

/** Handles requests of the other side. */
export interface Requests {
	/** Answers a request. An error that it throws becomes an error response. @returns `undefined` if there is no such method. */
	request(
		method: string,
		params: unknown,
		signal: AbortSignal,
	): Promise<unknown> | undefined;
	notification(method: string, params: unknown): void;
	/** A message that is none. */
	garbage(text: string): void;
	/** Text where a message should begin. */
	stray(text: string): void;
	/** The conversation broke; called once. */
	broken(why: string): void;
}

interface Pending {
	readonly resolve: (result: unknown) => void;
	readonly reject: (error: Error) => void;
}

const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** JSON-RPC 2.0 with the process at the other end of two streams. */
export class JsonRpcPeer {
	readonly #framing: Framing;
	readonly #input: Writable;
	readonly #output: Readable;
	readonly #requests: Requests;
	readonly #pending = new Map<number, Pending>();
	/** Aborts the work that this side does for the other one. */
	readonly #serving = new AbortController();
	#lastId = 0;
	#ended: string | undefined;

	constructor(
		input: Writable,
		output: Readable,
		framing: Framing,
		maxMessageBytes: number,
		requests: Requests,
	) {
		this.#framing = framing;
		this.#input = input;
		this.#output = output;
		this.#requests = requests;
		const reader = framing.reader(maxMessageBytes);
		input.on("error", ({ message }) =>
			this.#break(`it reads no requests: ${message}`),
		);
		// The callback also runs if the output has already ended.
		finished(output, { writable: false }, () =>
			this.end("it has ended its output"),
		);
		const take = (chunk: Buffer): void => {
			try {
				for (const text of reader.take(chunk)) this.#take(text);
				if (reader.stray !== undefined) requests.stray(reader.stray);
			} catch (error) {
				if (!(error instanceof FramingError)) throw error;
				output.off("data", take);
				output.resume(); // Further output is dropped; otherwise, the process could not end.
				this.#break(error.message);
			}
		};
		output.on("data", take);
	}

	/**
	 * Sends a request. Resolves to its result.
	 *
	 * @param sent gets its id.
	 * @throws Fault the other side answered with an error; ConversationEnded.
	 */
	request(
		method: string,
		params: unknown,
		sent: (id: number) => void = () => {},
	): Promise<unknown> {
		if (this.#ended !== undefined)
			return Promise.reject(new ConversationEnded(this.#ended, "no"));
		const { promise, resolve, reject } = Promise.withResolvers<unknown>();
		const id = ++this.#lastId;
		this.#send({ id, method, ...(params !== undefined && { params }) });
		this.#pending.set(id, { resolve, reject });
		sent(id);
		return promise;
	}

	notify(method: string, params: unknown): void {
		if (this.#ended === undefined)
			this.#send({ method, ...(params !== undefined && { params }) });
	}

	/** Its answer is no longer awaited, and is dropped if it comes. */
	forget(id: number, error: Error): void {
		this.#pending.get(id)?.reject(error);
		this.#pending.delete(id);
	}

	/** Pauses reading, so the other side waits until it can write again. */
	pause(): void {
		this.#output.pause();
	}

	resume(): void {
		this.#output.resume();
	}

	/** The other side is gone: unanswered requests reject. */
	end(why: string): void {
		if (this.#ended !== undefined) return;
		this.#ended = why;
		const error = new ConversationEnded(why, "maybe");
		for (const { reject } of this.#pending.values()) reject(error);
		this.#pending.clear();
		this.#serving.abort(error);
	}

	#break(why: string): void {
		if (this.#ended !== undefined) return;
		this.end(why);
		this.#requests.broken(why);
	}

	#send(message: object): void {
		const text = jsonLine({ jsonrpc: "2.0", ...message });
		this.#input.write(this.#framing.frame(text));
	}

	#take(text: string): void {
		if (this.#ended !== undefined || text.trim() === "") return;
		const messages = readMessage(text);
		if (messages === undefined) this.#requests.garbage(text);
		for (const message of messages ?? []) {
			switch (message.kind) {
				case "result":
					this.#settled(message.id, text)?.resolve(message.result);
					break;
				case "error":
					this.#settled(message.id, text)?.reject(new Fault(message.error));
					break;
				case "notification":
					this.#requests.notification(message.method, message.params);
					break;
				case "request":
					void this.#serve(message.id, message.method, message.params);
			}
		}
	}

	/**
	 * The request that an answer is for. Some programs answer with the number as a text. An answer to a request that is
	 * no longer awaited is late and dropped; one to a request that was never sent is garbage.
	 */
	#settled(id: Id | null, text: string): Pending | undefined {
		const number = typeof id === "string" ? Number(id) : id;
		const pending = number === null ? undefined : this.#pending.get(number);
		const wasSent =
			number !== null &&
			Number.isInteger(number) &&
			number >= 1 &&
			number <= this.#lastId;
		if (!wasSent) this.#requests.garbage(text);
		else this.#pending.delete(number);
		return pending;
	}

	async #serve(id: Id, method: string, params: unknown): Promise<void> {
		try {
			const { signal } = this.#serving;
			const serving = this.#requests.request(method, params, signal);
			this.#answer(
				id,
				serving === undefined
					? { error: noSuchMethod(method) }
					: { result: (await serving) ?? null },
			);
		} catch (error) {
			// Also if the result cannot be JSON.
			this.#answer(id, { error: failureOf(error) });
		}
	}

	#answer(id: Id, answer: object): void {
		if (this.#ended === undefined) this.#send({ id, ...answer });
	}
}

function failureOf(error: unknown): Failure {
	const message = messageOf(error);
	try {
		const { code, data } = (error ?? {}) as Partial<Failure>;
		return {
			code: typeof code === "number" ? code : INTERNAL_ERROR,
			message,
			...(isJson(data) && { data }),
		};
	} catch {
		// Its own code threw.
		return { code: INTERNAL_ERROR, message };
	}
}

function isJson(value: unknown): boolean {
	try {
		return JSON.stringify(value) !== undefined;
	} catch {
		return false;
	}
}

function noSuchMethod(method: string): Failure {
	return {
		code: METHOD_NOT_FOUND,
		message: `There is no method ${JSON.stringify(method.slice(0, 100))}.`,
	};
}
