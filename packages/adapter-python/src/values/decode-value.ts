import { InputError } from "@snakepit/core";
import type { CallSession } from "@snakepit/core/adapter";
import { tableOfBytes } from "./arrow-table.ts";
import {
	PlainDate,
	readDateTime,
	readDateTimes,
	readInstant,
} from "./dates.ts";
import { EXTENSION, MAX_DEPTH } from "./extensions.ts";
import { readHandle } from "./handle.ts";
import { MalformedValue, MessagePackReader } from "./message-pack-reader.ts";
import { DTYPES, isDType, littleEndian, NdArray } from "./nd-array.ts";
import { Tuple } from "./python-types.ts";

/** Reads two's complement, big-endian; no bytes are zero. */
function bigInteger(bytes: Uint8Array): bigint {
	const value = BigInt(`0x0${Buffer.from(bytes).toString("hex")}`);
	return BigInt.asIntN(bytes.length * 8, value);
}

/** A number where it is exact. */
function safeWhereItFits(value: bigint): number | bigint {
	const number = Number(value);
	return Number.isSafeInteger(number) ? number : value;
}

/** The lists that an array of numbers is written with, of which the sender counts none. */
const ND_ARRAY_LEVELS = 2;
/** The list that a part of an attachment, or a handle, is written with. */
const ONE_LEVEL = 1;
/** V8 keeps an array that is made longer than this as a slow dictionary. */
const LONGEST_RESERVED = 2 ** 24;

/** Reads values from an encoding, one after the other. */
class ValueDecoder {
	readonly #reader = new MessagePackReader();
	#attachment: Uint8Array | undefined;
	#session: CallSession | undefined;
	#depth = 0;

	/**
	 * Reads the value of one encoding.
	 *
	 * @param attachment holds the large parts of the value; in the result they are views of it.
	 * @param begin of the encoding within the bytes, which ends at `end`.
	 * @param session that the handles in the value belong to.
	 * @param use `"read once"`: the bytes are not read again, so a large array may be moved within them instead of being
	 *   copied.
	 * @throws InputError `VALUE_NOT_TRANSFERABLE` when the bytes are not an encoding.
	 */
	decode(
		bytes: Uint8Array,
		attachment: Uint8Array | undefined,
		begin: number,
		end: number,
		session?: CallSession,
		use?: "read once",
	): unknown {
		const reader = this.#reader;
		this.#attachment = attachment;
		this.#session = session;
		this.#depth = 0;
		try {
			reader.begin(bytes, begin, end, use);
			const value = this.#value();
			reader.finish();
			return value;
		} catch (cause) {
			reader.release();
			if (!(cause instanceof MalformedValue) && !(cause instanceof RangeError))
				throw cause;
			throw new InputError({
				code: "VALUE_NOT_TRANSFERABLE",
				ran: "maybe",
				message: cause.message,
				path: "$",
				cause,
			});
		} finally {
			this.#attachment = undefined;
			this.#session = undefined;
		}
	}

	#value(): unknown {
		const reader = this.#reader;
		const format = reader.byte();
		if (format < 0x80) return format;
		if (format < 0x90) return this.#object(format - 0x80);
		if (format < 0xa0) return this.#list(format - 0x90);
		if (format < 0xc0) return reader.text(format - 0xa0);
		if (format >= 0xe0) return format - 0x100;
		switch (format) {
			case 0xc0:
				return null;
			case 0xc2:
				return false;
			case 0xc3:
				return true;
			case 0xc4:
				return reader.binary(reader.unsigned(1));
			case 0xc5:
				return reader.binary(reader.unsigned(2));
			case 0xc6:
				return reader.binary(reader.unsigned(4));
			case 0xc7:
				return this.#extension(reader.unsigned(1));
			case 0xc8:
				return this.#extension(reader.unsigned(2));
			case 0xc9:
				return this.#extension(reader.unsigned(4));
			case 0xca:
				return reader.float32();
			case 0xcb:
				return reader.float64();
			case 0xcc:
				return reader.unsigned(1);
			case 0xcd:
				return reader.unsigned(2);
			case 0xce:
				return reader.unsigned(4);
			case 0xcf:
				return reader.unsignedLong();
			case 0xd0:
				return reader.signed(1);
			case 0xd1:
				return reader.signed(2);
			case 0xd2:
				return reader.signed(4);
			case 0xd3:
				return safeWhereItFits(reader.signedLong());
			case 0xd4:
			case 0xd5:
			case 0xd6:
			case 0xd7:
			case 0xd8:
				return this.#extension(1 << (format - 0xd4));
			case 0xd9:
				return reader.text(reader.unsigned(1));
			case 0xda:
				return reader.text(reader.unsigned(2));
			case 0xdb:
				return reader.text(reader.unsigned(4));
			case 0xdc:
				return this.#list(reader.unsigned(2));
			case 0xdd:
				return this.#list(reader.unsigned(4));
			case 0xde:
				return this.#object(reader.unsigned(2));
			case 0xdf:
				return this.#object(reader.unsigned(4));
			default:
				return reader.fail("0xc1, which is not a MessagePack format");
		}
	}

	#list(items: number): unknown[] {
		this.#enter();
		this.#reader.claim(items);
		const list = new Array<unknown>(Math.min(items, LONGEST_RESERVED));
		for (let i = 0; i < items; i++) list[i] = this.#value();
		this.#depth--;
		return list;
	}

	#object(entries: number): Record<string, unknown> {
		this.#enter();
		this.#reader.claim(entries * 2);
		const object: Record<string, unknown> = {};
		for (let i = 0; i < entries; i++) {
			const key = this.#key();
			object[key] = this.#value();
		}
		this.#depth--;
		return object;
	}

	#key(): string {
		const reader = this.#reader;
		const format = reader.byte();
		const key =
			format >= 0xa0 && format < 0xc0
				? reader.key(format - 0xa0)
				: format >= 0xd9 && format <= 0xdb
					? reader.text(reader.unsigned((1 << (format - 0xd9)) as 1 | 2 | 4))
					: reader.fail(
							"a map with a key that is not text; it belongs in extension 5",
						);
		if (key === "__proto__")
			reader.fail("a map with the key __proto__; it belongs in extension 5");
		return key;
	}

	#extension(size: number): unknown {
		const type = this.#reader.byte();
		if (type === EXTENSION.instant) return readInstant(this.#reader, size);
		return this.#reader.inside(size, () => this.#content(type, size));
	}

	#content(type: number, size: number): unknown {
		const reader = this.#reader;
		switch (type) {
			case EXTENSION.bigInteger:
				return safeWhereItFits(bigInteger(reader.binary(size)));
			case EXTENSION.date:
				return PlainDate.from(reader.text(size));
			case EXTENSION.dateTime:
				return readDateTime(reader, size);
			case EXTENSION.dateTimes:
				return readDateTimes(reader, this.#arrayHeader());
			case EXTENSION.map:
				return this.#map();
			case EXTENSION.tuple:
				return this.#tuple();
			case EXTENSION.set:
				return this.#set();
			case EXTENSION.ndArray:
				return this.#ndArray();
			case EXTENSION.attached:
				return this.#attached();
			case EXTENSION.table:
				return this.#table();
			case EXTENSION.handle:
				return readHandle(reader, this.#ownItems(ONE_LEVEL), this.#session);
			default:
				return reader.fail(
					`the unknown extension type ${type}; update @snakepit/adapter-python`,
				);
		}
	}

	#tuple(): Tuple {
		const tuple = new Tuple();
		for (const item of this.#items()) tuple.push(item);
		return tuple;
	}

	#set(): Set<unknown> {
		const items = this.#items();
		const set = new Set(items);
		if (set.size < items.length)
			this.#reader.fail("a set with two items that are the same in JavaScript");
		return set;
	}

	#map(): Map<unknown, unknown> {
		const flat = this.#items();
		if (flat.length % 2 !== 0)
			this.#reader.fail("a map whose last key has no value");
		const map = new Map<unknown, unknown>();
		for (let i = 0; i < flat.length; i += 2) map.set(flat[i], flat[i + 1]);
		if (map.size < flat.length / 2)
			this.#reader.fail("a map with two keys that are the same in JavaScript");
		return map;
	}

	#ndArray(): NdArray {
		const parts = this.#ownItems(ND_ARRAY_LEVELS);
		const [dtype, shape, bytes] = parts;
		if (
			parts.length !== 3 ||
			typeof dtype !== "string" ||
			!isDType(dtype) ||
			!Array.isArray(shape) ||
			!(bytes instanceof Uint8Array)
		) {
			return this.#reader.fail(
				"an array without a known dtype, a shape and its bytes",
			);
		}
		const { size, parts: perElement } = DTYPES[dtype];
		const alignment = size / perElement;
		const elements = this.#reader.aligned(bytes, alignment);
		return new NdArray(dtype, shape, littleEndian(elements, alignment));
	}

	#table(): unknown {
		const bytes = this.#value();
		return bytes instanceof Uint8Array
			? tableOfBytes(bytes)
			: this.#reader.fail("a table without its bytes");
	}

	#attached(): Uint8Array {
		const [offset, size] = this.#ownItems(ONE_LEVEL);
		const available = this.#attachment?.byteLength ?? 0;
		if (
			typeof offset !== "number" ||
			typeof size !== "number" ||
			offset < 0 ||
			size < 0 ||
			offset + size > available
		)
			return this.#reader.fail(
				`a part at ${offset} of ${size} bytes in an attachment of ${available}`,
			);
		const { buffer, byteOffset } = this.#attachment as Uint8Array;
		return new Uint8Array(buffer, byteOffset + offset, size);
	}

	/** Reads the array that an extension consists of. */
	#items(): unknown[] {
		return this.#list(this.#arrayHeader());
	}

	/** The same of a value that is no container, but is written with lists. */
	#ownItems(levels: number): unknown[] {
		this.#depth -= levels;
		const items = this.#items();
		this.#depth += levels;
		return items;
	}

	#arrayHeader(): number {
		const format = this.#reader.byte();
		if (format >= 0x90 && format < 0xa0) return format - 0x90;
		if (format === 0xdc) return this.#reader.unsigned(2);
		if (format === 0xdd) return this.#reader.unsigned(4);
		return this.#reader.fail("an extension that should hold an array");
	}

	#enter(): void {
		if (++this.#depth > MAX_DEPTH)
			this.#reader.fail(`more than ${MAX_DEPTH} levels`);
	}
}

/** Reads one encoding after the other; reading one never starts reading another. */
export const decoder: ValueDecoder = new ValueDecoder();

/**
 * Reads a value from its encoding (docs/values.md).
 *
 * @param attachment holds the large parts of the value; in the result they are views of it.
 * @param begin of the encoding within the bytes, which ends at `end`; nothing in the value is a view of a small encoding.
 * @param session that the handles in the value belong to.
 * @throws InputError `VALUE_NOT_TRANSFERABLE` when the bytes are not an encoding. Never runs code, and never takes more
 *   memory than the length of the bytes justifies.
 */
export function decodeValue(
	bytes: Uint8Array,
	attachment?: Uint8Array,
	begin = 0,
	end: number = bytes.length,
	session?: CallSession,
): unknown {
	return decoder.decode(bytes, attachment, begin, end, session);
}
