import { once } from "node:events";
import { finished, type Readable, type Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { deserializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
	ErrorCode,
	type JSONRPCErrorResponse,
	type JSONRPCMessage,
} from "@modelcontextprotocol/sdk/types.js";
import { jsonLine, stdioOf, type WorkerProcess } from "@snakepit/core/adapter";

/** The protocol over the standard input and output of a worker, for the official client. */
export class WorkerTransport implements Transport {
	onclose?: () => void;
	onerror?: (error: Error) => void;
	onmessage?: (message: JSONRPCMessage) => void;
	/** Gets a line that is no message. */
	onstray?: (line: string) => void;
	readonly #stdin: Writable;
	readonly #stdout: Readable;
	readonly #buffer = new LineBuffer();
	readonly #broken: (error: Error) => void;
	#state: "open" | "ending" | "closed" = "open";
	#delivery: "idle" | "running" = "idle";

	constructor(
		process: Pick<WorkerProcess, "stdin" | "stdout" | "exited" | "broken">,
	) {
		const { exited, broken } = process;
		const { stdin, stdout } = stdioOf(process);
		this.#stdin = stdin;
		this.#stdout = stdout;
		this.#broken = broken;
		stdin.on("error", (error) => this.onerror?.(error));
		// The callback also runs if the output has already ended.
		finished(stdout, { writable: false }, () => this.#end());
		void exited.then(() => this.#end());
	}

	async start(): Promise<void> {
		this.#stdout.on("data", (chunk: Buffer) => this.#take(chunk));
	}

	async send(message: JSONRPCMessage): Promise<void> {
		if (this.#state === "closed" || !this.#stdin.writable)
			throw new Error("The server no longer reads messages.");
		if (!this.#stdin.write(`${jsonLine(message)}\n`)) await this.#drained();
	}

	/** Asks the server to end by closing its standard input. What was received is delivered first. */
	async close(): Promise<void> {
		this.#stdin.end();
		this.#end();
	}

	async #drained(): Promise<void> {
		const over = new AbortController();
		const { signal } = over;
		try {
			await Promise.race([
				once(this.#stdin, "drain", { signal }),
				once(this.#stdin, "close", { signal }),
			]);
		} finally {
			over.abort();
		}
	}

	#take(chunk: Buffer): void {
		// Further output is dropped; otherwise, the process could not end.
		if (this.#state === "closed") return;
		try {
			this.#buffer.append(chunk);
		} catch (cause) {
			this.#break(cause as Error);
			return;
		}
		if (this.#delivery === "idle") void this.#deliver();
		// Waiting messages count towards the limit of the buffer.
		if (this.#delivery === "running") this.#stdout.pause();
	}

	#break(cause: Error): void {
		const why = `it wrote a message that is too long: ${cause.message}`;
		const error = new Error(why, { cause });
		this.onerror?.(error);
		this.#close();
		this.#broken(error);
	}

	async #deliver(): Promise<void> {
		this.#delivery = "running";
		while (this.#state !== "closed") {
			const line = this.#buffer.next();
			if (line === undefined) break;
			const message = this.#read(line);
			if (message === undefined) continue; // A stray line: the next one may be a message.
			try {
				this.onmessage?.(message);
			} catch (error) {
				this.onerror?.(error as Error);
			}
			// The client handles a notification some turns later. Once it has the answer, it drops the listener for progress.
			if (!("id" in message)) await nextTurn();
		}
		this.#delivery = "idle";
		this.#stdout.resume();
		if (this.#state === "ending") this.#close();
	}

	#read(line: string): JSONRPCMessage | undefined {
		try {
			return deserializeMessage(line);
		} catch (error) {
			this.onstray?.(line);
			this.onerror?.(error as Error);
			return answerInstead(line);
		}
	}

	/** No more messages will come: closes when the received ones are delivered. */
	#end(): void {
		if (this.#delivery === "idle") this.#close();
		else if (this.#state === "open") this.#state = "ending";
	}

	#close(): void {
		if (this.#state === "closed") return;
		this.#state = "closed";
		this.onclose?.();
	}
}

/** Like the official client, it takes no longer messages. */
const MOST_BYTES: number = 10 * 2 ** 20;

/** Received data, of which complete lines are taken. */
class LineBuffer {
	#data: Buffer = Buffer.alloc(0);

	/** @throws Error when more waits than the limit. */
	append(chunk: Buffer): void {
		const bytes = this.#data.length + chunk.length;
		if (bytes > MOST_BYTES) {
			this.#data = Buffer.alloc(0);
			throw new Error(`more than ${MOST_BYTES} bytes`);
		}
		this.#data =
			this.#data.length === 0 ? chunk : Buffer.concat([this.#data, chunk]);
	}

	/** The next complete line; `undefined` if there is none. */
	next(): string | undefined {
		const end = this.#data.indexOf("\n");
		if (end === -1) return undefined;
		const line = this.#data.toString("utf8", 0, end).replace(/\r$/, "");
		this.#data = this.#data.subarray(end + 1);
		return line;
	}
}

const MOST_CHARACTERS = 1_000;

/**
 * An error response for an answer that the official client does not accept, so that its request ends; `undefined` if the
 * line is no answer.
 */
function answerInstead(line: string): JSONRPCErrorResponse | undefined {
	let value: Record<string, unknown>;
	try {
		value = JSON.parse(line) ?? {};
	} catch {
		return undefined;
	}
	const { jsonrpc, id, method, error } = value;
	const isId = typeof id === "number" || typeof id === "string";
	if (jsonrpc !== "2.0" || !isId || method !== undefined) return undefined;
	const message = wordsOf(error);
	return {
		jsonrpc,
		id,
		error: {
			code: ErrorCode.InternalError,
			message:
				message ??
				`The server sent no valid answer: ${line.slice(0, MOST_CHARACTERS)}`,
		},
	};
}

function wordsOf(error: unknown): string | undefined {
	if (typeof error === "string") return error;
	const { message } = (error ?? {}) as { readonly message?: unknown };
	return typeof message === "string" ? message : undefined;
}
