/** Like the official client, it takes no longer messages. */
const MOST_BYTES: number = 10 * 2 ** 20;

/** Received data, of which complete lines are taken. */
export class LineBuffer {
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
