import type { Socket } from "node:net";
import { HEADER_BYTES, writeHeader } from "./frame-cutter.ts";

/** From here on a copy costs more than a second piece in the same write. */
const COPIED_BYTES = 16 * 1024;

/** What it needs of a socket. */
type Outlet = Pick<Socket, "writable" | "write" | "cork" | "uncork">;

/**
 * Writes messages to a socket. All of one turn leave together, when the code that
 * sends them has returned: a lone one waits for nothing, a hundred cost one write.
 */
export class FrameWriter {
	private readonly socket: Outlet;
	private kinds: number[] = [];
	private bodies: Uint8Array[] = [];

	constructor(socket: Outlet) {
		this.socket = socket;
	}

	write(kind: number, body: Uint8Array): void {
		this.kinds.push(kind);
		// A tick comes after the microtasks that are due: those of a burst of calls.
		if (this.bodies.push(body) === 1) process.nextTick(this.flush);
	}

	/** Writes what waits. */
	readonly flush = (): void => {
		const { kinds, bodies, socket } = this;
		if (bodies.length === 0 || !socket.writable) return;
		this.kinds = [];
		this.bodies = [];
		const pieces = piecesOf(kinds, bodies);
		if (pieces.length === 1) {
			socket.write(pieces[0] as Uint8Array);
			return;
		}
		socket.cork();
		for (const piece of pieces) socket.write(piece);
		socket.uncork();
	};
}

/** Small messages together with their headers in one piece; large ones as they are. */
function piecesOf(
	kinds: readonly number[],
	bodies: readonly Uint8Array[],
): readonly Uint8Array[] {
	const pieces: Uint8Array[] = [];
	let first = 0;
	while (first < bodies.length) {
		let bytes = 0;
		let end = first;
		let large: Uint8Array | undefined;
		while (end < bodies.length && large === undefined) {
			const body = bodies[end++] as Uint8Array;
			bytes += HEADER_BYTES;
			if (body.length > COPIED_BYTES) large = body;
			else bytes += body.length;
		}
		const piece = Buffer.allocUnsafe(bytes);
		let at = 0;
		for (let i = first; i < end; i++) {
			const body = bodies[i] as Uint8Array;
			writeHeader(piece, at, kinds[i] as number, body.length);
			at += HEADER_BYTES;
			if (body !== large) {
				piece.set(body, at);
				at += body.length;
			}
		}
		pieces.push(piece);
		if (large !== undefined) pieces.push(large);
		first = end;
	}
	return pieces;
}
