import type { Writable } from "node:stream";
import { terminalText } from "../contract/text.ts";

/** What may wait for a reader of standard error. */
const MAX_WAITING_BYTES = 1_048_576;

/**
 * Shows lines to people, and nothing that their terminal would carry out. When they are not read as fast as they come, some are
 * dropped and counted instead of filling the memory.
 */
export class Echo {
	readonly #out: Writable;
	#dropped = 0;

	constructor(out: Writable) {
		this.#out = out;
	}

	line(text: string): void {
		if (this.#out.writableLength > MAX_WAITING_BYTES) {
			this.#dropped++;
			return;
		}
		if (this.#dropped > 0) {
			this.#write(
				`[snakepit] ${this.#dropped} lines are missing here: they arrived faster than this output is read\n`,
			);
			this.#dropped = 0;
		}
		this.#write(`${terminalText(text)}\n`);
	}

	/** If the reader is gone, the program continues, as it does after `console.error`. */
	#write(text: string): void {
		this.#out.write(text, (error) => {
			const isUnheard = this.#out.listenerCount("error") === 0;
			if (error && isUnheard) this.#out.once("error", () => {});
		});
	}
}
