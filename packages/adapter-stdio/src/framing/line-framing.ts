import { StringDecoder } from "node:string_decoder";
import { type FrameReader, type Framing, FramingError } from "./framing.ts";

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
