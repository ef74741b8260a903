import { isUtf8 } from "node:buffer";

/** Bytes that are not a encoded value: what is wrong, and where. */
export class MalformedValue extends Error {
	override readonly name = "MalformedValue";
}

/** From this size on, bytes may be views of the message instead of copies; smaller ones may lie in Node's shared pool. */
const LEAST_VIEW = 65_536;
/** Up to this length, a loop is faster than a call into the runtime. */
const SHORT_TEXT = 24;
const REPLACEMENT = "\u{fffd}";
const TWO_TO_32 = 2 ** 32;
/** For a smaller message, the preparations for fast reading cost more than they save. */
const LEAST_LARGE = 512;
/** A power of two; the keys of the records in a list rarely collide in so many slots. */
const KEY_SLOTS = 64;
const NO_BYTES = Buffer.alloc(0);

/** Reads the parts of MessagePack formats, never past the end. */
export class MessagePackReader {
	/** The nanoseconds of the timestamp that was read last. */
	nanoseconds = 0;
	#bytes: Buffer = NO_BYTES;
	#floats: DataView | undefined;
	#isReadOnce = false;
	/** The keys that were read: the records of a list have the same ones. */
	#keys: string[] | undefined;
	#begin = 0;
	#size = 0;
	#position = 0;
	/** Where the current value must end: the end of the message, or of the extension around it. */
	#end = 0;
	/** The bytes that are not reserved for announced items. */
	#unclaimed = 0;

	/**
	 * Begins an encoding.
	 *
	 * @param begin of the value within the bytes; it ends before `end`.
	 * @param use `"read once"`: bytes that were read may be overwritten.
	 */
	begin(
		bytes: Uint8Array,
		begin: number,
		end: number,
		use?: "read once",
	): void {
		this.#isReadOnce = use === "read once";
		const { buffer, byteOffset, byteLength } = bytes;
		this.#bytes =
			bytes instanceof Buffer
				? bytes
				: Buffer.from(buffer, byteOffset, byteLength);
		this.#begin = begin;
		this.#position = begin;
		this.#end = end;
		this.#size = end - begin;
		this.#unclaimed = this.#size;
		if (this.#size < LEAST_LARGE) return;
		this.#floats = new DataView(buffer, byteOffset, byteLength);
		this.#keys = new Array<string>(KEY_SLOTS);
	}

	/** All of it is read: drops it. */
	finish(): void {
		const left = this.#end - this.#position;
		if (left !== 0) this.fail(`${left} bytes after its end`);
		// As `release`, without one more call for each value.
		this.#bytes = NO_BYTES;
		this.#floats = undefined;
		this.#keys = undefined;
	}

	/** Drops an encoding that could not be read, before the next one begins. */
	release(): void {
		this.#bytes = NO_BYTES;
		this.#floats = undefined;
		this.#keys = undefined;
	}

	get remaining(): number {
		return this.#end - this.#position;
	}

	fail(problem: string): never {
		throw new MalformedValue(
			`The value is malformed at byte ${this.#position - this.#begin} of ${this.#size}: ${problem}.`,
		);
	}

	/** Reads one byte: a format, or a small number. */
	byte(): number {
		if (this.#position >= this.#end) this.fail("1 bytes announced, 0 left");
		return this.#bytes[this.#position++] as number;
	}

	/** Reads an unsigned integer of the given number of bytes. */
	unsigned(size: 1 | 2 | 4): number {
		const at = this.#take(size);
		let value = this.#bytes[at] as number;
		for (let i = 1; i < size; i++)
			value = value * 0x100 + (this.#bytes[at + i] as number);
		return value;
	}

	/** Reads a signed integer of the given number of bytes. */
	signed(size: 1 | 2 | 4): number {
		const unused = 32 - 8 * size;
		return (this.unsigned(size) << unused) >> unused;
	}

	/** Reads a signed integer of 8 bytes. */
	signedLong(): bigint {
		return this.#bytes.readBigInt64BE(this.#take(8));
	}

	/** Reads an unsigned integer of 8 bytes: a number if it is safe, otherwise a bigint. */
	unsignedLong(): number | bigint {
		const at = this.#take(8);
		const high = this.#bytes.readUInt32BE(at);
		return high < 0x200000
			? high * TWO_TO_32 + this.#bytes.readUInt32BE(at + 4)
			: this.#bytes.readBigUInt64BE(at);
	}

	/** Reads MessagePack's timestamp of the given number of bytes: its seconds since the Unix epoch, and {@link nanoseconds}. */
	timestamp(size: number): number {
		if (size !== 4 && size !== 8 && size !== 12)
			this.fail(`a timestamp of ${size} bytes`);
		const at = this.#take(size);
		const first = this.#bytes.readUInt32BE(at);
		this.nanoseconds = 0;
		if (size === 4) return first;
		this.nanoseconds = size === 8 ? first >>> 2 : first;
		if (this.nanoseconds > 999_999_999)
			this.fail(`a timestamp with ${this.nanoseconds} nanoseconds`);
		const high = size === 8 ? first & 3 : this.#bytes.readInt32BE(at + 4);
		return high * TWO_TO_32 + this.#bytes.readUInt32BE(at + size - 4);
	}

	float32(): number {
		return this.#bytes.readFloatBE(this.#take(4));
	}

	float64(): number {
		const at = this.#take(8);
		return this.#floats === undefined
			? this.#bytes.readDoubleBE(at)
			: this.#floats.getFloat64(at);
	}

	text(size: number): string {
		const start = this.#take(size);
		if (size > SHORT_TEXT) return this.#unicode(start, size);
		let text = "";
		for (let i = start; i < start + size; i++) {
			const unit = this.#bytes[i] as number;
			if (unit >= 0x80) return this.#unicode(start, size);
			text += String.fromCharCode(unit);
		}
		return text;
	}

	/** Reads text that is likely to occur again, such as the key of a record. */
	key(size: number): string {
		const bytes = this.#bytes;
		const keys = this.#keys;
		if (keys === undefined || size === 0 || size > SHORT_TEXT)
			return this.text(size);
		const start = this.#position;
		const first = bytes[start] ?? 0;
		const last = bytes[start + size - 1] ?? 0;
		const slot = (first * 31 + last + size) % KEY_SLOTS;
		const known = keys[slot];
		if (known?.length === size) {
			let i = 0;
			while (i < size && known.charCodeAt(i) === bytes[start + i]) i++;
			if (i === size && size <= this.remaining) {
				this.#position += size;
				return known;
			}
		}
		const text = this.text(size);
		// Only ASCII has as many characters as bytes; others could equal bytes that are not UTF-8.
		if (text.length === size) keys[slot] = text;
		return text;
	}

	/** Reads bytes: a copy, or a view where they make up most of the message. No small value keeps a large one alive. */
	binary(size: number): Uint8Array {
		const start = this.#take(size);
		const { buffer, byteOffset } = this.#bytes;
		const view = new Uint8Array(buffer, byteOffset + start, size);
		return size >= LEAST_VIEW && size > buffer.byteLength / 2
			? view
			: view.slice();
	}

	/**
	 * Moves bytes that {@link binary} returned to a place where a typed array can begin, if that needs no other memory:
	 * within a message that is read only once, they move over their own length field.
	 */
	aligned(bytes: Uint8Array, alignment: number): Uint8Array {
		const { buffer, byteOffset, byteLength } = bytes;
		const excess = byteOffset % alignment;
		// Shorter ones are copies already.
		if (!this.#isReadOnce || excess === 0 || buffer !== this.#bytes.buffer)
			return bytes;
		const all = new Uint8Array(buffer);
		all.copyWithin(byteOffset - excess, byteOffset, byteOffset + byteLength);
		return all.subarray(byteOffset - excess, byteOffset - excess + byteLength);
	}

	/**
	 * Checks a count of items before memory is taken for them: each takes at least one byte, also of the bytes that the
	 * containers around them announced items for.
	 */
	claim(items: number): void {
		const left = Math.min(this.#unclaimed, this.remaining);
		if (items > left) this.fail(`${items} items announced, ${left} bytes left`);
		this.#unclaimed -= items;
	}

	/** Reads the content of an extension: all of it, and nothing else. */
	inside<T>(size: number, read: () => T): T {
		const start = this.#take(size);
		const outerEnd = this.#end;
		this.#position = start;
		this.#end = start + size;
		const value = read();
		if (this.remaining !== 0)
			this.fail(`${this.remaining} bytes too many inside an extension`);
		this.#end = outerEnd;
		return value;
	}

	#unicode(start: number, size: number): string {
		const text = this.#bytes.toString("utf8", start, start + size);
		// The replacement character for invalid bytes may also occur in the text itself.
		if (
			text.includes(REPLACEMENT) &&
			!isUtf8(this.#bytes.subarray(start, start + size))
		)
			this.fail("text that is not UTF-8");
		return text;
	}

	#take(size: number): number {
		const start = this.#position;
		const end = start + size;
		if (end > this.#end)
			this.fail(`${size} bytes announced, ${this.remaining} left`);
		this.#position = end;
		return start;
	}
}
