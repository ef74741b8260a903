import { LENT_BYTES } from "./frame-channel.ts";

/** The bytes after a header are a frame of the conversation, or a signal beside it. */
export const FRAME = 0;
export const SIGNAL = 1;
/** Only between host and relay: bytes of an attachment, and what happens to its file. */
export const BYTES = 2;
export const SHORTENED = 3;
export const CLOSED = 4;
/** One byte for the kind, four for the length, the most significant first. */
export const HEADER_BYTES = 5;

/** Called with each complete message, from `begin` to `end`. Up to {@link LENT_BYTES}, its bytes are only lent. */
export type MessageListener = (
	kind: number,
	bytes: Uint8Array,
	begin: number,
	end: number,
) => void;

/** Cuts the bytes of a socket into messages. Small ones are read in place; a large one is collected. */
export class MessageCutter {
	private readonly limit: number;
	private readonly lastKind: number;
	private readonly listener: MessageListener;
	/** The begin of a header. */
	private rest: Uint8Array | undefined;
	/** A message that is incomplete, or too large to be lent. */
	private partial:
		| { readonly kind: number; readonly body: Collected }
		| undefined;

	/** @param limit of one message, in bytes. @param lastKind that there is. */
	constructor(
		limit: number,
		listener: MessageListener,
		lastKind: typeof SIGNAL | typeof BYTES = SIGNAL,
	) {
		this.limit = limit;
		this.lastKind = lastKind;
		this.listener = listener;
	}

	/**
	 * @param chunk may be written over afterwards.
	 * @param size how much of it has arrived.
	 * @throws Error when it is no message, or one over the limit; nothing that follows can be read then.
	 */
	take(chunk: Uint8Array, size: number = chunk.length): void {
		let bytes = chunk;
		let length = size;
		if (this.rest !== undefined) {
			bytes = Buffer.concat([this.rest, chunk.subarray(0, size)]);
			length = bytes.length;
			this.rest = undefined;
		}
		let at = 0;
		while (at < length) {
			if (this.partial !== undefined) {
				at = this.fill(this.partial, bytes, at, length);
				continue;
			}
			const begin = at + HEADER_BYTES;
			if (begin > length) {
				// Not `slice`: that of a Buffer is a view.
				this.rest = Buffer.from(bytes.subarray(at, length));
				return;
			}
			const kind = bytes[at] as number;
			if (kind > this.lastKind)
				throw new Error(`a message of the unknown kind ${kind} arrived`);
			const size =
				(bytes[at + 1] as number) * 2 ** 24 +
				((bytes[at + 2] as number) << 16) +
				((bytes[at + 3] as number) << 8) +
				(bytes[at + 4] as number);
			if (size > this.limit)
				throw new Error(
					`a message of ${size} bytes arrived, but the limit is ${this.limit}`,
				);
			const isHere = size <= LENT_BYTES && begin + size <= length;
			if (isHere) this.listener(kind, bytes, begin, begin + size);
			else this.partial = { kind, body: new Collected(size) };
			at = isHere ? begin + size : begin;
		}
	}

	/** Takes what belongs to the partial message; returns the position after it. */
	private fill(
		{ kind, body }: { readonly kind: number; readonly body: Collected },
		bytes: Uint8Array,
		at: number,
		length: number,
	): number {
		const end = Math.min(length, at + body.missing);
		body.add(bytes.subarray(at, end));
		if (body.missing === 0) {
			this.partial = undefined;
			const whole = body.whole();
			this.listener(kind, whole, 0, whole.length);
		}
		return end;
	}
}

/** How much memory is reserved for data that is only announced, */
const RESERVED_BYTES = 256 * 1024;
/** or this many times the size of the data that has arrived. Unused memory costs nothing. */
const BELIEVED = 32;

/** A known number of bytes that arrive in pieces, in their own memory. */
export class Collected {
	private readonly length: number;
	private bytes: Buffer;
	private arrived = 0;

	constructor(length: number) {
		this.length = length;
		this.bytes = Buffer.allocUnsafeSlow(Math.min(length, RESERVED_BYTES));
	}

	/** How many have not arrived. */
	get missing(): number {
		return this.length - this.arrived;
	}

	/** How many bytes the memory can hold. */
	get reserved(): number {
		return this.bytes.length;
	}

	/** Copies a piece, which is not larger than the missing rest. */
	add(piece: Uint8Array): void {
		for (let at = 0; at < piece.length; ) {
			if (this.arrived === this.bytes.length) this.grow();
			const room = this.bytes.length - this.arrived;
			const end = Math.min(piece.length, at + room);
			this.bytes.set(piece.subarray(at, end), this.arrived);
			this.arrived += end - at;
			at = end;
		}
	}

	/** The complete bytes. */
	whole(): Uint8Array {
		return this.bytes;
	}

	private grow(): void {
		const size = Math.min(this.length, this.arrived * BELIEVED);
		const grown = Buffer.allocUnsafeSlow(size);
		this.bytes.copy(grown, 0, 0, this.arrived);
		this.bytes = grown;
	}
}
