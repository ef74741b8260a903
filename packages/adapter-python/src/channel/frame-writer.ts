import type { Socket } from "node:net";
import { LENT_BYTES } from "./frame-channel.ts";
import { HEADER_BYTES, writeHeader } from "./frame-cutter.ts";

/** Room for many small messages and one of the largest that are copied. */
const BUFFER_BYTES = 64 * 1024;

/** So much of a large value is encrypted at once, while the other side decrypts what is before it. */
const PIECE_BYTES = 1024 * 1024;

/** What it needs of a socket. */
type Outlet = Pick<
	Socket,
	"writable" | "write" | "cork" | "uncork" | "writableLength"
>;

/**
 * Writes messages to a socket. All of one turn leave together, when the code that
 * sends them has returned: a lone one waits for nothing, a hundred cost one write.
 * Small ones are gathered in one buffer, which is used again when the kernel has it.
 */
export class FrameWriter {
	private readonly socket: Outlet;
	private buffer: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
	/** What was gathered lies from `begin` to `end`. */
	private begin = 0;
	private end = 0;
	/** What leaves before that. */
	private pieces: Uint8Array[] = [];
	private leaves: "when it is flushed" | "with this turn" =
		"when it is flushed";

	constructor(socket: Outlet) {
		this.socket = socket;
	}

	/** @param when `"now"`: at once, with what waits. */
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
		writeHeader(this.buffer, this.end, kind, length);
		if (isLent) this.buffer.set(body, this.end + HEADER_BYTES);
		this.end += size;
		if (!isLent) {
			this.seal();
			this.pieces.push(body);
		}
		if (when === "now") this.flush();
		else if (this.leaves !== "with this turn") {
			this.leaves = "with this turn";
			// A tick comes after the microtasks that are due: those of a burst of calls.
			process.nextTick(this.endOfTurn);
		}
	}

	/** Writes a message of a head and of parts, which are copied: they are the caller's. */
	writeParts(
		kind: number,
		head: Uint8Array,
		parts: readonly Uint8Array[],
		size: number,
	): void {
		const begin = Buffer.allocUnsafe(HEADER_BYTES + head.length);
		writeHeader(begin, 0, kind, head.length + size);
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

	/** What was gathered is a piece of its own; what follows comes behind it. */
	private seal(): void {
		if (this.end === this.begin) return;
		this.pieces.push(this.buffer.subarray(this.begin, this.end));
		this.begin = this.end;
	}
}
