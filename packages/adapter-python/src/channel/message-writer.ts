import type { Socket } from "node:net";
// Not that of the global, which fake timers of a test replace.
import { nextTick } from "node:process";
import { LENT_BYTES } from "./frame-channel.ts";
import { HEADER_BYTES } from "./message-cutter.ts";

/** Room for many small messages and one of the largest messages that are copied. */
const BUFFER_BYTES = 64 * 1024;

/** How much of a large value is encrypted at once, while the other side decrypts the previous part. */
const PIECE_BYTES = 1024 * 1024;

/** What it needs of a socket. */
type Outlet = Pick<
	Socket,
	"writable" | "write" | "cork" | "uncork" | "writableLength"
>;

/**
 * Writes messages to a socket. All messages of one turn are sent together, when the code that sends them has returned:
 * a single one does not wait, and a hundred cost one write. Small ones are collected in one buffer, which is reused
 * when the kernel has the data.
 */
export class MessageWriter {
	private readonly socket: Outlet;
	private buffer: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
	/** The collected bytes are from `begin` to `end`. */
	private begin = 0;
	private end = 0;
	/** What leaves before that. */
	private pieces: Uint8Array[] = [];
	private leaves: "when it is flushed" | "with this turn" =
		"when it is flushed";

	constructor(socket: Outlet) {
		this.socket = socket;
	}

	/** @param when `"now"`: at once, with the waiting messages. */
	write(kind: number, body: Uint8Array, when?: "now"): void {
		const { length } = body;
		const isLent = length <= LENT_BYTES;
		const size = HEADER_BYTES + (isLent ? length : 0);
		if (this.end + size > BUFFER_BYTES) {
			this.seal();
			this.buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
			this.begin = 0;
			this.end = 0;
		}
		this.buffer[this.end] = kind;
		this.buffer.writeUInt32BE(length, this.end + 1);
		if (isLent) this.buffer.set(body, this.end + HEADER_BYTES);
		this.end += size;
		if (!isLent) {
			this.seal();
			this.pieces.push(body);
		}
		if (when === "now") this.flush();
		else if (this.leaves !== "with this turn") {
			this.leaves = "with this turn";
			// A tick runs after the pending microtasks, which are those of a burst of calls.
			nextTick(this.endOfTurn);
		}
	}

	/** Writes a message of a head and parts. The parts belong to the caller, so they are copied. */
	writeParts(
		kind: number,
		head: Uint8Array,
		parts: readonly Uint8Array[],
		size: number,
	): void {
		const begin = Buffer.allocUnsafe(HEADER_BYTES + head.length);
		begin[0] = kind;
		begin.writeUInt32BE(head.length + size, 1);
		begin.set(head, HEADER_BYTES);
		const body = Buffer.allocUnsafeSlow(size);
		let at = 0;
		for (const part of parts) {
			body.set(part, at);
			at += part.length;
		}
		this.seal();
		this.pieces.push(begin);
		for (let from = 0; from < size; from += PIECE_BYTES)
			this.pieces.push(body.subarray(from, from + PIECE_BYTES));
		this.flush();
	}

	/** Writes what waits. */
	flush(): void {
		const { socket } = this;
		if (!socket.writable) return;
		const { pieces, begin, end } = this;
		if (pieces.length === 0) {
			if (end > begin) socket.write(this.buffer.subarray(begin, end));
			this.begin = end;
		} else {
			this.seal();
			socket.cork();
			for (const piece of pieces) socket.write(piece);
			socket.uncork();
		}
		pieces.length = 0;
		if (socket.writableLength > 0) return;
		this.begin = 0;
		this.end = 0;
	}

	private readonly endOfTurn = (): void => {
		this.leaves = "when it is flushed";
		this.flush();
	};

	/** The collected bytes become a separate piece; further bytes follow it. */
	private seal(): void {
		if (this.end === this.begin) return;
		this.pieces.push(this.buffer.subarray(this.begin, this.end));
		this.begin = this.end;
	}
}
