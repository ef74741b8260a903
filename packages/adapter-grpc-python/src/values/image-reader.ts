import { isUtf8 } from "node:buffer";

/** Bytes that are no value image: what is wrong, and where. */
export class MalformedImage extends Error {
	override readonly name = "MalformedImage";
}

/** From here on bytes may be views of the message instead of copies; smaller ones may lie in Node's shared pool. */
const LEAST_VIEW = 65_536;
/** Up to here a loop beats the call into the runtime. */
const SHORT_TEXT = 24;
const TWO_TO_32 = 2 ** 32;

/** Reads the parts of MessagePack formats, never past the end. */
export class ImageReader {
	private readonly bytes: Buffer;
	private position = 0;
	/** Where the value at hand must end: the message, or the extension around it. */
	private end: number;

	constructor(bytes: Uint8Array) {
		this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		this.end = bytes.byteLength;
	}

	get remaining(): number {
		return this.end - this.position;
	}

	fail(problem: string): never {
		throw new MalformedImage(
			`The value is malformed at byte ${this.position} of ${this.bytes.length}: ${problem}.`,
		);
	}

	/** Reads one byte: a format, or a small number. */
	byte(): number {
		return this.bytes[this.take(1)] ?? 0;
	}

	unsigned(size: 1 | 2 | 4): number {
		return this.bytes.readUIntBE(this.take(size), size);
	}

	signed(size: 1 | 2 | 4): number {
		return this.bytes.readIntBE(this.take(size), size);
	}

	/** A number where it is safe, otherwise a bigint. */
	longUnsigned(): number | bigint {
		const at = this.take(8);
		const high = this.bytes.readUInt32BE(at);
		return high < 0x200000
			? high * TWO_TO_32 + this.bytes.readUInt32BE(at + 4)
			: this.bytes.readBigUInt64BE(at);
	}

	/** A number where it is safe, otherwise a bigint. */
	longSigned(): number | bigint {
		const value = this.bytes.readBigInt64BE(this.take(8));
		const number = Number(value);
		return Number.isSafeInteger(number) ? number : value;
	}

	long(): bigint {
		return this.bytes.readBigInt64BE(this.take(8));
	}

	float32(): number {
		return this.bytes.readFloatBE(this.take(4));
	}

	float64(): number {
		return this.bytes.readDoubleBE(this.take(8));
	}

	text(size: number): string {
		const start = this.take(size);
		if (size <= SHORT_TEXT) {
			let text = "";
			for (let i = start; i < start + size; i++) {
				const unit = this.bytes[i] ?? 0;
				if (unit >= 0x80) return this.unicode(start, size);
				text += String.fromCharCode(unit);
			}
			return text;
		}
		return this.unicode(start, size);
	}

	/** Bytes of their own, or a view where they make up most of the message: no small value keeps a large one alive. */
	binary(size: number): Uint8Array {
		const start = this.take(size);
		const { buffer, byteOffset } = this.bytes;
		const view = new Uint8Array(buffer, byteOffset + start, size);
		return size >= LEAST_VIEW && size > buffer.byteLength / 2
			? view
			: view.slice();
	}

	/** Checks a count of items, each of which takes a byte at least, before room is made for them. */
	count(items: number): number {
		if (items > this.remaining)
			this.fail(`${items} items announced, ${this.remaining} bytes left`);
		return items;
	}

	/** Reads what is inside an extension: all of it, and nothing else. */
	inside<T>(size: number, read: () => T): T {
		const start = this.take(size);
		const outerEnd = this.end;
		this.position = start;
		this.end = start + size;
		const value = read();
		if (this.remaining !== 0)
			this.fail(`${this.remaining} bytes too many inside an extension`);
		this.end = outerEnd;
		return value;
	}

	private unicode(start: number, size: number): string {
		if (!isUtf8(this.bytes.subarray(start, start + size)))
			this.fail("text that is not UTF-8");
		return this.bytes.toString("utf8", start, start + size);
	}

	private take(size: number): number {
		if (size > this.remaining)
			this.fail(`${size} bytes announced, ${this.remaining} left`);
		const start = this.position;
		this.position += size;
		return start;
	}
}
