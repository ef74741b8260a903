import { StringDecoder } from "node:string_decoder";

/** How messages lie in a stream of bytes. */
export interface Framing {
	/** The bytes of one message. */
	frame(message: string): string | Buffer;
	/** Finds the messages in the received data; one for each stream. */
	reader(maxMessageBytes: number): FrameReader;
}

export interface FrameReader {
	/**
	 * Takes received data.
	 *
	 * @returns the messages that are now complete, in order.
	 * @throws FramingError if the data is not a message, or is longer than the limit.
	 */
	take(chunk: Buffer): readonly string[];
	/** The first line that was found where a header should be. */
	readonly stray?: string | undefined;
}

/** The received data cannot be divided into messages: the conversation is over. */
export class FramingError extends Error {
	override readonly name = "FramingError";
}

/** One message per line, ended by `\n` or `\r\n`. A message must not contain a line break. */
export const lineFraming: Framing = {
	frame: (message) => `${message}\n`,
	reader: (maxMessageBytes) => new LineReader(maxMessageBytes),
};

class LineReader implements FrameReader {
	readonly #maxMessageBytes: number;
	readonly #decoder = new StringDecoder("utf8");
	/** The beginning of a line; joined once, when the line is complete. */
	#parts: string[] = [];
	#bytes = 0;

	constructor(maxMessageBytes: number) {
		this.#maxMessageBytes = maxMessageBytes;
	}

	take(chunk: Buffer): readonly string[] {
		const pieces = this.#decoder.write(chunk).split("\n");
		const last = pieces.pop() ?? "";
		const lines = pieces.map((piece) => {
			this.#add(piece);
			const line = this.#parts.join("");
			this.#parts = [];
			this.#bytes = 0;
			return line.endsWith("\r") ? line.slice(0, -1) : line;
		});
		this.#add(last);
		return lines;
	}

	#add(piece: string): void {
		if (piece === "") return;
		this.#bytes += Buffer.byteLength(piece);
		if (this.#bytes > this.#maxMessageBytes)
			throw new FramingError(
				`it wrote a line of more than ${this.#maxMessageBytes} bytes (maxMessageBytes)`,
			);
		this.#parts.push(piece);
	}
}

/** A header `Content-Length: N`, an empty line and N bytes, as language servers and debug adapters use it. */
export const contentLengthFraming: Framing = {
	frame: (message) => {
		const body = Buffer.from(message);
		const head = Buffer.from(`Content-Length: ${body.length}\r\n\r\n`);
		return Buffer.concat([head, body]);
	},
	reader: (maxMessageBytes) => new ContentLengthReader(maxMessageBytes),
};

const HEAD_END = Buffer.from("\r\n\r\n");
const MAX_HEAD_BYTES = 4_096;
const HEADER = /^[\w-]+:/;
const LENGTH = /^content-length:[ \t]*(\d{1,15})[ \t]*$/im;

class ContentLengthReader implements FrameReader {
	readonly #maxMessageBytes: number;
	/** Incomplete data; joined when there is enough for the next step. */
	#chunks: Buffer[] = [];
	#bytes = 0;
	/** The length of the next body; `undefined` while its head is read. */
	#length: number | undefined;
	stray: string | undefined;

	constructor(maxMessageBytes: number) {
		this.#maxMessageBytes = maxMessageBytes;
	}

	take(chunk: Buffer): readonly string[] {
		this.#chunks.push(chunk);
		this.#bytes += chunk.length;
		const messages: string[] = [];
		while (this.#step(messages));
		return messages;
	}

	/** @returns whether the received data may contain more. */
	#step(messages: string[]): boolean {
		if (this.#length === undefined) return this.#readHead();
		if (this.#bytes < this.#length) return false;
		messages.push(this.#cut(this.#length).toString("utf8"));
		this.#length = undefined;
		return true;
	}

	#readHead(): boolean {
		const all = this.#joined();
		this.#noteStray(all);
		const end = all.indexOf(HEAD_END);
		if (end > MAX_HEAD_BYTES || (end === -1 && all.length > MAX_HEAD_BYTES))
			throw new FramingError(
				`it wrote a header of more than ${MAX_HEAD_BYTES} bytes`,
			);
		if (end === -1) return false;
		const head = this.#cut(end + HEAD_END.length).toString("latin1");
		const length = LENGTH.exec(head.replaceAll("\r\n", "\n"))?.[1];
		if (length === undefined)
			throw new FramingError(
				`it wrote a header without Content-Length: ${JSON.stringify(head.slice(0, 80))}`,
			);
		this.#length = Number(length);
		if (this.#length > this.#maxMessageBytes)
			throw new FramingError(
				`it announced a message of ${length} bytes, more than ${this.#maxMessageBytes} (maxMessageBytes)`,
			);
		return true;
	}

	/** A program may print a line before its header, as a greeting. */
	#noteStray(all: Buffer): void {
		if (this.stray !== undefined) return;
		const end = all.indexOf("\n");
		if (end === -1 || end > MAX_HEAD_BYTES) return;
		const line = all.toString("utf8", 0, end).trimEnd();
		if (!HEADER.test(line)) this.stray = line;
	}

	#cut(length: number): Buffer {
		const all = this.#joined();
		const rest = all.subarray(length);
		this.#chunks = rest.length === 0 ? [] : [rest];
		this.#bytes = rest.length;
		return all.subarray(0, length);
	}

	#joined(): Buffer {
		const [only] = this.#chunks;
		if (this.#chunks.length === 1 && only !== undefined) return only;
		const all = Buffer.concat(this.#chunks);
		this.#chunks = [all];
		return all;
	}
}
