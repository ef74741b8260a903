/** What follows a header is a frame of the conversation, or a signal beside it. */
export const FRAME = 0;
export const SIGNAL = 1;
/** One byte for the kind, four for the length, the most significant first. */
export const HEADER_BYTES = 5;

/** Hears what arrives, whole. The bytes are its own: nothing writes to them later. */
export type MessageListener = (kind: number, body: Uint8Array) => void;

/** A message that has not arrived whole. Only what has arrived takes memory. */
interface Partial {
	readonly parts: Uint8Array[];
	/** How much of it is here, header included. */
	bytes: number;
	/** How much it takes to read on. */
	needed: number;
}

/** Cuts what a socket brings into messages. One that arrives in one piece is not copied. */
export class FrameCutter {
	private readonly limit: number;
	private readonly listener: MessageListener;
	private partial: Partial | undefined;

	/** @param limit of one message, in bytes. */
	constructor(limit: number, listener: MessageListener) {
		this.limit = limit;
		this.listener = listener;
	}

	/** @throws Error when it is no message, or one over the limit; nothing that follows can be read then. */
	take(chunk: Uint8Array): void {
		const { partial } = this;
		let bytes = chunk;
		if (partial !== undefined) {
			partial.parts.push(chunk);
			partial.bytes += chunk.length;
			if (partial.bytes < partial.needed) return;
			bytes = Buffer.concat(partial.parts, partial.bytes);
			this.partial = undefined;
		}
		this.cut(bytes);
	}

	private cut(bytes: Uint8Array): void {
		const { length } = bytes;
		let at = 0;
		while (at < length) {
			let needed = HEADER_BYTES;
			if (length - at >= HEADER_BYTES) {
				needed += this.bodyLength(bytes, at);
				if (length - at >= needed) {
					const begin = at + HEADER_BYTES;
					const kind = bytes[at] as number;
					at += needed;
					this.listener(kind, bytes.subarray(begin, at));
					continue;
				}
			}
			const rest = bytes.subarray(at);
			this.partial = { parts: [rest], bytes: rest.length, needed };
			return;
		}
	}

	private bodyLength(bytes: Uint8Array, at: number): number {
		const [kind, a, b, c, d] = bytes.subarray(
			at,
			at + HEADER_BYTES,
		) as never as readonly [number, number, number, number, number];
		if (kind > SIGNAL)
			throw new Error(`a message of kind ${kind} arrived, which there is not`);
		const length = a * 2 ** 24 + (b << 16) + (c << 8) + d;
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
