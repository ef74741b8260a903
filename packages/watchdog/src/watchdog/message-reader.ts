import {
	type HostMessage,
	MESSAGE_LIMIT_BYTES,
	parseMessage,
} from "./message.ts";

const NEWLINE = 0x0a;

/**
 * Cuts what comes through the pipe into messages.
 *
 * What is not a message, or longer than one may be, is left out: a watchdog
 * goes on with what it knows. A message that was cut off by the host's death is none.
 */
export class MessageReader {
	#rest: Buffer = Buffer.alloc(0);
	/** Whether the beginning of the line was thrown away because it became too long. */
	#overlong = false;

	push(chunk: Buffer): readonly HostMessage[] {
		const messages: HostMessage[] = [];
		let from = 0;
		for (
			let end = chunk.indexOf(NEWLINE);
			end !== -1;
			end = chunk.indexOf(NEWLINE, from)
		) {
			const line = this.#line(chunk.subarray(from, end));
			from = end + 1;
			const message = line === undefined ? undefined : parseMessage(line);
			if (message !== undefined) messages.push(message);
		}
		this.#keep(chunk.subarray(from));
		return messages;
	}

	/** Ends the line that was begun; `undefined` when it is too long. */
	#line(end: Buffer): string | undefined {
		const bytes = this.#rest.length + end.length;
		const isLine = !this.#overlong && bytes <= MESSAGE_LIMIT_BYTES;
		const line = isLine ? Buffer.concat([this.#rest, end]) : undefined;
		this.#rest = Buffer.alloc(0);
		this.#overlong = false;
		return line?.toString("utf8");
	}

	#keep(beginning: Buffer): void {
		if (this.#rest.length + beginning.length <= MESSAGE_LIMIT_BYTES) {
			this.#rest = Buffer.concat([this.#rest, beginning]);
			return;
		}
		this.#rest = Buffer.alloc(0);
		this.#overlong = true;
	}
}
