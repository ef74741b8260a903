import { Collected } from "./collected.ts";

/** What follows a header is a frame of the conversation, or a signal beside it. */
export const FRAME = 0;
export const SIGNAL = 1;
/** One byte for the kind, four for the length, the most significant first. */
export const HEADER_BYTES = 5;
/** Up to here messages that arrive together are copied together; a larger one is a copy by itself. */
const SMALL_BYTES = 16 * 1024;

/** Called with each whole message. The bytes are its own: nothing writes to them later. */
export type MessageListener = (kind: number, body: Uint8Array) => void;

/**
 * Cuts what a socket brings into messages. Each is copied out of the buffer that the
 * socket reads into, since memory of its own for each read costs far more.
 */
export class FrameCutter {
	private readonly limit: number;
	private readonly listener: MessageListener;
	/** The begin of a header. */
	private rest: Uint8Array | undefined;
	/** A message that has not arrived whole, or is too large to be copied with others. */
	private partial:
		| { readonly kind: number; readonly body: Collected }
		| undefined;

	/** @param limit of one message, in bytes. */
	constructor(limit: number, listener: MessageListener) {
		this.limit = limit;
		this.listener = listener;
	}

	/**
	 * @param chunk may be written over afterwards.
	 * @throws Error when it is no message, or one over the limit; nothing that follows can be read then.
	 */
	take(chunk: Uint8Array): void {
		let bytes = chunk;
		if (this.rest !== undefined) {
			bytes = Buffer.concat([this.rest, chunk]);
			this.rest = undefined;
		}
		for (let at = 0; at < bytes.length; )
			at =
				this.partial === undefined ? this.cut(bytes, at) : this.fill(bytes, at);
	}

	/** Takes what belongs to the partial message; returns the position after it. */
	private fill(bytes: Uint8Array, at: number): number {
		const { partial } = this;
		if (partial === undefined) return at;
		const { kind, body } = partial;
		const end = Math.min(bytes.length, at + body.missing);
		body.add(bytes.subarray(at, end));
		if (body.missing === 0) {
			this.partial = undefined;
			this.listener(kind, body.whole());
		}
		return end;
	}

	/** Delivers the small messages that are whole, and begins the one after them; returns the position after what it took. */
	private cut(bytes: Uint8Array, begin: number): number {
		let at = begin;
		while (bytes.length - at >= HEADER_BYTES) {
			const length = this.bodyLength(bytes, at);
			const end = at + HEADER_BYTES + length;
			if (length > SMALL_BYTES || end > bytes.length) break;
			at = end;
		}
		if (at > begin) {
			this.deliver(Buffer.from(bytes.subarray(begin, at)));
			return at;
		}
		if (bytes.length - at < HEADER_BYTES) {
			// Not `slice`: that of a Buffer is a view.
			this.rest = Buffer.from(bytes.subarray(at));
			return bytes.length;
		}
		const body = new Collected(this.bodyLength(bytes, at));
		this.partial = { kind: bytes[at] as number, body };
		return at + HEADER_BYTES;
	}

	/** @param bytes whole messages. */
	private deliver(bytes: Uint8Array): void {
		for (let at = 0; at < bytes.length; ) {
			const begin = at + HEADER_BYTES;
			const end = begin + this.bodyLength(bytes, at);
			this.listener(bytes[at] as number, bytes.subarray(begin, end));
			at = end;
		}
	}

	private bodyLength(bytes: Uint8Array, at: number): number {
		const kind = bytes[at] as number;
		if (kind > SIGNAL)
			throw new Error(`a message of kind ${kind} arrived, which there is not`);
		const length =
			(bytes[at + 1] as number) * 2 ** 24 +
			((bytes[at + 2] as number) << 16) +
			((bytes[at + 3] as number) << 8) +
			(bytes[at + 4] as number);
		if (length > this.limit) {
			throw new Error(
				`a message of ${length} bytes arrived, and the limit is ${this.limit}`,
			);
		}
		return length;
	}
}

/** Writes the header of a message of `length` bytes. */
export function writeHeader(
	into: Uint8Array,
	at: number,
	kind: number,
	length: number,
): void {
	into[at] = kind;
	into[at + 1] = length >>> 24;
	into[at + 2] = length >>> 16;
	into[at + 3] = length >>> 8;
	into[at + 4] = length;
}
