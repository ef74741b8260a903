import { EXTENSION } from "./extensions.ts";
import { ValueNotTransferable } from "./value-not-transferable.ts";

/** The size of most encodings. */
export const SMALL_VALUE_BYTES = 512;
const TWO_TO_32 = 2 ** 32;
/** Up to this length, such as that of a `traceparent`, a loop is faster than a call into the runtime. */
const SHORT_TEXT = 64;

/** A guess for an extension of unknown size: most have a length of one byte. */
export const EXTENSION_GUESS = 64;

/** MessagePack's formats, written into a buffer that grows up to a limit. */
export class MessagePackWriter {
	/** What is written, up to `length`. Further writing may replace it by a larger one. */
	bytes: Buffer;
	length = 0;
	/** More bytes than this throw a {@link ValueNotTransferable} `MESSAGE_TOO_LARGE`. */
	limit: number = Number.MAX_SAFE_INTEGER;

	constructor(bytes: Buffer) {
		this.bytes = bytes;
	}

	nil(): void {
		this.byte(0xc0);
	}

	boolean(value: boolean): void {
		this.byte(value ? 0xc3 : 0xc2);
	}

	/** Writes a safe integer, in the shortest format. */
	integer(value: number): void {
		if (value >= 0) {
			if (value < 0x80) this.byte(value);
			else if (value < TWO_TO_32) this.sized(0xcc, value);
			else this.longInteger(BigInt(value));
		} else if (value >= -0x20) this.byte(value + 0x100);
		else if (value >= -0x80) this.unsigned(0xd0, value + 0x100, 1);
		else if (value >= -0x8000) this.unsigned(0xd1, value + 0x10000, 2);
		else if (value >= -0x80000000) this.unsigned(0xd2, value + TWO_TO_32, 4);
		else this.longInteger(BigInt(value));
	}

	/** Writes an integer from -2⁶³ to 2⁶⁴-1 in 8 bytes. */
	longInteger(value: bigint): void {
		this.reserve(9);
		if (value >= 0n) {
			this.bytes[this.length] = 0xcf;
			this.bytes.writeBigUInt64BE(value, this.length + 1);
		} else {
			this.bytes[this.length] = 0xd3;
			this.bytes.writeBigInt64BE(value, this.length + 1);
		}
		this.length += 9;
	}

	/** Writes MessagePack's timestamp, in its shortest format. */
	timestamp(seconds: number, nanoseconds: number): void {
		this.reserve(15);
		const high = Math.floor(seconds / TWO_TO_32);
		const low = seconds - high * TWO_TO_32;
		if (high === 0 && nanoseconds === 0) this.words(0xd6, [low]);
		else if (high >= 0 && high < 4)
			this.words(0xd7, [nanoseconds * 4 + high, low]);
		else {
			this.byte(0xc7);
			this.words(12, [nanoseconds, high, low]);
		}
	}

	/** Writes one byte, the type of a timestamp, and numbers of 4 bytes, for which there is room. */
	private words(format: number, words: readonly number[]): void {
		this.bytes[this.length++] = format;
		this.bytes[this.length++] = EXTENSION.instant;
		for (const word of words)
			this.length = this.bytes.writeUInt32BE(word >>> 0, this.length);
	}

	float(value: number): void {
		this.reserve(9);
		this.bytes[this.length] = 0xcb;
		this.bytes.writeDoubleBE(value, this.length + 1);
		this.length += 9;
	}

	text(value: string): void {
		const { length } = value;
		if (length <= SHORT_TEXT) {
			const head = length < 0x20 ? 1 : 2;
			this.reserve(head + length);
			const start = this.length + head;
			let ascii = 0;
			for (; ascii < length; ascii++) {
				const unit = value.charCodeAt(ascii);
				if (unit >= 0x80) break;
				this.bytes[start + ascii] = unit;
			}
			if (ascii === length) {
				this.bytes[start - 1] = head === 1 ? 0xa0 + length : length;
				if (head === 2) this.bytes[this.length] = 0xd9;
				this.length = start + length;
				return;
			}
		}
		const size = Buffer.byteLength(value, "utf8");
		// If it has as many bytes as characters, it is ASCII.
		if (size !== value.length && !value.isWellFormed()) {
			throw new ValueNotTransferable(
				"is text with a lone surrogate, which no encoding can represent; repair it with toWellFormed(), or send bytes",
			);
		}
		if (size < 0x20) this.byte(0xa0 + size);
		else this.sized(0xd9, size);
		this.reserve(size);
		this.bytes.write(value, this.length, "utf8");
		this.length += size;
	}

	binary(value: Uint8Array): void {
		this.sized(0xc4, value.byteLength);
		this.raw(value);
	}

	/** Writes bytes without a header. */
	raw(value: Uint8Array): void {
		this.reserve(value.byteLength);
		this.bytes.set(value, this.length);
		this.length += value.byteLength;
	}

	arrayHeader(items: number): void {
		if (items < 0x10) this.byte(0x90 + items);
		else if (items < 0x10000) this.unsigned(0xdc, items, 2);
		else this.unsigned(0xdd, items, 4);
	}

	mapHeader(entries: number): void {
		if (entries < 0x10) this.byte(0x80 + entries);
		else if (entries < 0x10000) this.unsigned(0xde, entries, 2);
		else this.unsigned(0xdf, entries, 4);
	}

	/**
	 * Writes an extension whose content is written by `content`. The length comes before the content, so room is left for
	 * it, and the content is moved where the guess was wrong.
	 *
	 * @param guess about how many bytes the content will have.
	 */
	extension(type: number, guess: number, content: () => void): void {
		const room = extensionHeaderSize(guess);
		const start = this.length;
		this.reserve(room);
		this.length += room;
		content();
		const size = this.length - start - room;
		const header = extensionHeaderSize(size);
		if (header !== room) {
			this.reserve(Math.max(0, header - room));
			this.bytes.copyWithin(start + header, start + room, this.length);
		}
		this.length = start;
		if (header === 2) this.byte(FIXED_EXTENSION[size] ?? 0);
		else this.sized(0xc7, size);
		this.byte(type);
		this.length = start + header + size;
	}

	private byte(value: number): void {
		this.reserve(1);
		this.bytes[this.length++] = value;
	}

	/** Writes a number that the first of three formats has in 1 byte, the second in 2 and the third in 4. */
	private sized(format: number, value: number): void {
		if (value < 0x100) this.unsigned(format, value, 1);
		else if (value < 0x10000) this.unsigned(format + 1, value, 2);
		else this.unsigned(format + 2, value, 4);
	}

	private unsigned(format: number, value: number, size: 1 | 2 | 4): void {
		this.reserve(1 + size);
		this.bytes[this.length++] = format;
		for (let shift = 8 * (size - 1); shift >= 0; shift -= 8)
			this.bytes[this.length++] = value >>> shift;
	}

	private reserve(size: number): void {
		const needed = this.length + size;
		if (needed <= this.bytes.length) return;
		if (needed > this.limit) {
			throw new ValueNotTransferable(
				`The value has more than ${this.limit} bytes, the limit of one message`,
				"MESSAGE_TOO_LARGE",
			);
		}
		const grown = Buffer.allocUnsafe(
			Math.max(needed, Math.min(this.limit, this.bytes.length * 2)),
		);
		this.bytes.copy(grown, 0, 0, this.length);
		this.bytes = grown;
	}
}

const FIXED_EXTENSION: Readonly<Record<number, number>> = {
	1: 0xd4,
	2: 0xd5,
	4: 0xd6,
	8: 0xd7,
	16: 0xd8,
};

function extensionHeaderSize(size: number): number {
	if (size in FIXED_EXTENSION) return 2;
	return size < 0x100 ? 3 : size < 0x10000 ? 4 : 6;
}
