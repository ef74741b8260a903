import { once } from "node:events";
import { finished, type Readable, type Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { deserializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { jsonLine, type WorkerProcess } from "@snakepit/core/adapter";
import { answerInstead } from "./invalid-answer.ts";
import { LineBuffer } from "./line-buffer.ts";

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

	constructor({
		stdin,
		stdout,
		exited,
		broken,
	}: Pick<WorkerProcess, "stdin" | "stdout" | "exited" | "broken">) {
		if (stdin === undefined || stdout === undefined)
			throw new TypeError("The server has no standard input and output.");
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
