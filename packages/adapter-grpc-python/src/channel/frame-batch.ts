// Not that of the global, which fake timers of a test replace.
import { nextTick } from "node:process";

/** The field `batch` of a frame, and the field `frames` in it: number and kind, as protobuf writes them. */
export const BATCH_TAG = 0x52;
const FRAME_TAG = 0x0a;
/** The size of a full batch, and the size from which a frame is sent alone: copying it would cost more than its own message. */
const BATCH_BYTES = 64 * 1024;
const ALONE_BYTES = 16 * 1024;
/** Number, kind and length of a frame in a batch, or of the batch, at most. */
const AROUND_BYTES = 6;

/**
 * Combines the frames of one turn into few messages, because a message costs gRPC more than a small frame does. A
 * single frame does not wait, and a hundred frames cost about as much as one.
 */
export class FrameBatch {
	private readonly write: (message: Uint8Array) => void;
	private readonly batchBytes: number;
	private frames: Uint8Array[] = [];

	/** @param limit of one message, in bytes. */
	constructor(limit: number, write: (message: Uint8Array) => void) {
		this.batchBytes = Math.min(limit, BATCH_BYTES) - AROUND_BYTES;
		this.write = write;
	}

	/** Adds a frame; it is sent after the calling code has returned. */
	add(frame: Uint8Array): void {
		// A tick runs after the pending microtasks, which are those of a burst of calls.
		if (this.frames.push(frame) === 1) nextTick(this.flush);
	}

	/** Writes what was added. */
	readonly flush = (): void => {
		const { frames } = this;
		if (frames.length === 0) return;
		this.frames = [];
		if (frames.length === 1) {
			this.write(frames[0] as Uint8Array);
			return;
		}
		let first = 0;
		let bytes = 0;
		for (let i = 0; i < frames.length; i++) {
			const { length } = frames[i] as Uint8Array;
			const isAlone = length > ALONE_BYTES;
			const taken = length + AROUND_BYTES;
			if (isAlone || bytes + taken > this.batchBytes) {
				this.writeAll(frames.slice(first, i));
				first = i;
				bytes = 0;
			}
			if (isAlone) {
				this.writeAll(frames.slice(i, i + 1));
				first = i + 1;
			} else bytes += taken;
		}
		this.writeAll(first === 0 ? frames : frames.slice(first));
	};

	private writeAll(frames: readonly Uint8Array[]): void {
		const [first] = frames;
		if (first !== undefined)
			this.write(frames.length === 1 ? first : batchOf(frames));
	}
}

/** Puts frames into one message. */
export function batchOf(frames: readonly Uint8Array[]): Uint8Array {
	let inner = 0;
	for (const { length } of frames) inner += 1 + varintBytes(length) + length;
	const message = Buffer.allocUnsafe(1 + varintBytes(inner) + inner);
	message[0] = BATCH_TAG;
	let at = writeVarint(message, 1, inner);
	for (const frame of frames) {
		message[at] = FRAME_TAG;
		at = writeVarint(message, at + 1, frame.length);
		message.set(frame, at);
		at += frame.length;
	}
	return message;
}

/**
 * Calls `deliver` with each frame of a message, in order: the message itself, or the frames in its batch.
 *
 * @throws Error when a batch is cut off, or holds something else than frames; nothing was delivered then.
 */
export function cutBatch(
	message: Uint8Array,
	deliver: (frame: Uint8Array) => void,
): void {
	if (message[0] !== BATCH_TAG) {
		deliver(message);
		return;
	}
	const frames: Uint8Array[] = [];
	let { value: inner, at } = readVarint(message, 1);
	if (at + inner !== message.length) throw malformed();
	while (at < message.length) {
		if (message[at] !== FRAME_TAG) throw malformed();
		({ value: inner, at } = readVarint(message, at + 1));
		if (at + inner > message.length) throw malformed();
		frames.push(message.subarray(at, at + inner));
		at += inner;
	}
	for (const frame of frames) deliver(frame);
}

function malformed(): Error {
	return new Error("a malformed batch of frames arrived");
}

function varintBytes(value: number): number {
	let bytes = 1;
	for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) bytes++;
	return bytes;
}

/** Returns the position after it. */
function writeVarint(into: Uint8Array, at: number, value: number): number {
	let rest = value;
	let to = at;
	for (; rest > 0x7f; rest = Math.floor(rest / 128))
		into[to++] = (rest % 128) | 0x80;
	into[to++] = rest;
	return to;
}

function readVarint(
	from: Uint8Array,
	begin: number,
): { value: number; at: number } {
	let value = 0;
	let scale = 1;
	for (let at = begin; at < begin + 5; at++, scale *= 128) {
		const byte = from[at];
		if (byte === undefined) break;
		value += (byte & 0x7f) * scale;
		if (byte < 0x80) return { value, at: at + 1 };
	}
	throw malformed();
}
