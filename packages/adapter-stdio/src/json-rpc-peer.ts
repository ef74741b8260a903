import { finished, type Readable, type Writable } from "node:stream";
import { InputError, SnakepitError, ToolError } from "@snakepit/core";
import {
	ConnectionBrokenError,
	jsonLine,
	messageOf,
} from "@snakepit/core/adapter";
import { type Framing, FramingError } from "./framing.ts";

/** A request or notification, a response, or a failure of JSON-RPC 2.0. */
type Incoming =
	| {
			readonly kind: "request";
			readonly id: Id;
			readonly method: string;
			readonly params: unknown;
	  }
	| {
			readonly kind: "notification";
			readonly method: string;
			readonly params: unknown;
	  }
	| { readonly kind: "result"; readonly id: Id; readonly result: unknown }
	| { readonly kind: "error"; readonly id: Id | null; readonly error: Failure };

type Id = number | string;

export interface Failure {
	/** A number, if the program follows the protocol. */
	readonly code: number | string | undefined;
	readonly message: string;
	readonly data?: unknown;
}

/** Reads a message; `undefined` if it is not one. */
function readMessage(text: string): readonly Incoming[] | undefined {
	let parsed: unknown;
	try {
		parsed = JSON.parse(text);
	} catch {
		return undefined;
	}
	// A batch.
	const all = (Array.isArray(parsed) ? parsed : [parsed]).map(incoming);
	return all.every((each) => each !== undefined) ? all : undefined;
}

function incoming(value: unknown): Incoming | undefined {
	if (typeof value !== "object" || value === null) return undefined;
	const { id, method, params, result, error } = value as Record<
		string,
		unknown
	>;
	const isId = typeof id === "number" || typeof id === "string";
	if (typeof method === "string")
		return isId
			? { kind: "request", id, method, params }
			: { kind: "notification", method, params };
	if (!isId && id !== null) return undefined;
	if (isFailure(error)) return { kind: "error", id, error };
	if (!isId) return undefined;
	if (error === undefined || error === null) {
		if ("result" in value) return { kind: "result", id, result };
		if (!isVersion2(value)) return undefined;
		const message = `The answer has neither a result nor an error: ${excerptOf(value)}`;
		return { kind: "error", id, error: { code: undefined, message } };
	}
	// A line of a log may have an id and an error, too.
	return isVersion2(value) || "result" in value || typeof error === "object"
		? { kind: "error", id, error: readFailure(error) }
		: undefined;
}

function isFailure(value: unknown): value is Failure {
	const { code, message } = (value ?? {}) as Partial<Failure>;
	return typeof code === "number" && typeof message === "string";
}

function isVersion2(value: object): boolean {
	return "jsonrpc" in value && value.jsonrpc === "2.0";
}

/** An error that does not have the form that the protocol demands; its call must end nevertheless. */
function readFailure(error: unknown): Failure {
	if (typeof error === "string") return { code: undefined, message: error };
	const { code, message, data } = error as Record<string, unknown>;
	return {
		code:
			typeof code === "number" || typeof code === "string" ? code : undefined,
		message: typeof message === "string" ? message : excerptOf(error),
		data,
	};
}

function excerptOf(value: unknown): string {
	return JSON.stringify(value).slice(0, 1_000);
}

/** The other side answered a request with an error. */
class Fault extends Error {
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
interface Requests {
	/** Answers a request. An error that it throws becomes an error response. @returns `undefined` if there is no such method. */
	request(
		method: string,
		params: unknown,
		signal: AbortSignal,
	): Promise<unknown> | undefined;
	notification(method: string, params: unknown): void;
	/** Text that is not a message of JSON-RPC. */
	invalid(text: string): void;
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
		if (messages === undefined) this.#requests.invalid(text);
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
	 * no longer awaited is late and dropped; one to a request that was never sent is invalid.
	 */
	#settled(id: Id | null, text: string): Pending | undefined {
		const number = typeof id === "string" ? Number(id) : id;
		const pending = number === null ? undefined : this.#pending.get(number);
		const wasSent =
			number !== null &&
			Number.isInteger(number) &&
			number >= 1 &&
			number <= this.#lastId;
		if (!wasSent) this.#requests.invalid(text);
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

const INVALID_PARAMS = -32602;

/** Converts the failure of a request to a Snakepit error. */
export function translate(error: unknown, method: string): SnakepitError {
	if (error instanceof SnakepitError) return error;
	const { message } = error as Error;
	if (error instanceof ConversationEnded)
		return new ConnectionBrokenError({
			ran: error.sent,
			message,
			cause: error,
		});
	if (!(error instanceof Fault))
		return new InputError({
			code: "VALUE_NOT_TRANSFERABLE",
			ran: "no",
			message: `The params of "${method}" cannot be JSON: ${message}`,
			cause: error,
		});
	return refusedBy(error, method, "JSON-RPC error");
}

/** Converts the error response to a request to a Snakepit error. @param type of errors of this protocol. */
export function refusedBy(
	failure: Failure,
	method: string,
	type: string,
): SnakepitError {
	const { code, message, data } = failure;
	const fields = {
		message: `"${method}": ${message}`,
		cause: failure,
	} as const;
	if (code === METHOD_NOT_FOUND)
		return new InputError({ ...fields, code: "TOOL_NOT_FOUND", ran: "no" });
	if (code === INVALID_PARAMS)
		return new InputError({ ...fields, code: "INVALID_ARGUMENTS", ran: "no" });
	return new ToolError({
		...fields,
		ran: "maybe",
		remote: {
			...{ type: code === undefined ? type : `${type} ${code}`, message },
			...(data !== undefined && { data }),
		},
	});
}
