import type { AttachmentSink } from "../shared-memory/attachment.ts";
import { bigIntegerBytes, fitsLong } from "./big-integer.ts";
import { dtypeOf } from "./dtype.ts";
import {
	EXTENSION,
	FIRST_INSTANT_MS,
	LAST_INSTANT_MS,
	MAX_DEPTH,
} from "./extension-types.ts";
import { Float } from "./float.ts";
import { ImageWriter } from "./image-writer.ts";
import { NdArray } from "./nd-array.ts";
import { describe, NoImage, propertyPlace, within } from "./no-image.ts";
import { PlainDate } from "./plain-date.ts";
import { PlainDateTime } from "./plain-date-time.ts";
import { Tuple } from "./tuple.ts";

export interface EncodeOptions {
	/** More bytes than this are a `MESSAGE_TOO_LARGE`. */
	readonly maxBytes?: number;
	/** What paths in errors begin with. */
	readonly root?: string;
	/** Takes large parts; without it everything is in the image. */
	readonly attachment?: AttachmentSink | undefined;
}

/**
 * Writes a value as its image (docs/values.md).
 *
 * @throws InputError `VALUE_NOT_TRANSFERABLE` with the path of what has no image, `MESSAGE_TOO_LARGE` past `maxBytes`.
 */
export function encodeValue(
	value: unknown,
	options: EncodeOptions = {},
): Uint8Array {
	const encoder = new Encoder(
		new ImageWriter(options.maxBytes ?? Number.MAX_SAFE_INTEGER),
		options.attachment,
	);
	try {
		encoder.value(value);
	} catch (error) {
		throw error instanceof NoImage
			? error.toInputError(options.root ?? "$")
			: error;
	}
	return encoder.writer.finish();
}

const EXTENSION_GUESS = 64;

class Encoder {
	readonly writer: ImageWriter;
	/** The containers around the value at hand. */
	private readonly ancestors: object[] = [];
	private readonly attachment: AttachmentSink | undefined;

	constructor(writer: ImageWriter, attachment: AttachmentSink | undefined) {
		this.writer = writer;
		this.attachment = attachment;
	}

	value(value: unknown): void {
		switch (typeof value) {
			case "string":
				this.writer.text(value);
				break;
			case "number":
				this.number(value);
				break;
			case "boolean":
				this.writer.boolean(value);
				break;
			case "bigint":
				this.bigInteger(value);
				break;
			case "object":
				if (value === null) this.writer.nil();
				else if (!this.leaf(value)) this.container(value);
				break;
			case "undefined":
				throw new NoImage(
					"is undefined, which only a property of an object may be; send null",
				);
			default:
				throw new NoImage(
					`is ${describe(value)}, which cannot leave this program; send plain data`,
				);
		}
	}

	private number(value: number): void {
		if (Number.isSafeInteger(value) && !Object.is(value, -0))
			this.writer.integer(value);
		else this.writer.float(value);
	}

	private bigInteger(value: bigint): void {
		if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER)
			this.writer.integer(Number(value));
		else if (fitsLong(value)) this.writer.longInteger(value);
		else {
			const bytes = bigIntegerBytes(value);
			this.writer.extension(EXTENSION.bigInteger, bytes.length, () =>
				this.writer.raw(bytes),
			);
		}
	}

	/** Writes an object that holds no other values; false when it is none of those. */
	private leaf(value: object): boolean {
		if (ArrayBuffer.isView(value)) this.view(value);
		else if (value instanceof ArrayBuffer) this.binary(new Uint8Array(value));
		else if (value instanceof Date) this.instant(value);
		else if (value instanceof Float) this.writer.float(value.value);
		else if (value instanceof PlainDate)
			this.extensionText(EXTENSION.date, value.toString());
		else if (value instanceof PlainDateTime)
			this.extensionText(EXTENSION.dateTime, value.toString());
		else if (value instanceof NdArray) this.ndArray(value);
		else return false;
		return true;
	}

	private container(value: object): void {
		this.enter(value);
		if (value instanceof Tuple) this.listInside(EXTENSION.tuple, value);
		else if (Array.isArray(value)) this.items(value);
		else if (value instanceof Map) this.map(value);
		else if (value instanceof Set) this.listInside(EXTENSION.set, [...value]);
		else if (isPlain(value)) this.plainObject(value);
		else
			throw new NoImage(
				`is ${describe(value)}, which has no image; send its fields as a plain object`,
			);
		this.ancestors.pop();
	}

	private enter(container: object): void {
		if (this.ancestors.length >= MAX_DEPTH) {
			throw new NoImage(
				this.ancestors.includes(container)
					? "contains itself; send a value without cycles"
					: `is more than ${MAX_DEPTH} levels deep; send a flatter value`,
			);
		}
		this.ancestors.push(container);
	}

	private listInside(type: number, items: readonly unknown[]): void {
		this.writer.extension(type, EXTENSION_GUESS, () => this.items(items));
	}

	private items(items: readonly unknown[]): void {
		let i = 0;
		try {
			this.writer.arrayHeader(items.length);
			for (; i < items.length; i++) {
				const item = items[i];
				if (item === undefined && !(i in items)) {
					throw new NoImage(
						"is a hole in a sparse array; send null, or an object with the indexes as keys",
					);
				}
				this.value(item);
			}
		} catch (error) {
			throw within(error, `[${i}]`);
		}
	}

	private plainObject(value: object): void {
		const symbol = Object.getOwnPropertySymbols(value).find((key) =>
			Object.prototype.propertyIsEnumerable.call(value, key),
		);
		if (symbol !== undefined)
			throw new NoImage(
				`has the key ${String(symbol)}, and symbols cannot cross`,
			);
		const entries: [string, unknown][] = [];
		for (const key of Object.keys(value)) {
			const property = (value as Record<string, unknown>)[key];
			if (property !== undefined) entries.push([key, property]);
		}
		this.textEntries(entries);
	}

	private map(value: ReadonlyMap<unknown, unknown>): void {
		const entries = [...value];
		if (
			entries.every(
				(entry): entry is [string, unknown] => typeof entry[0] === "string",
			)
		) {
			this.textEntries(entries);
		} else this.anyEntries(entries);
	}

	private textEntries(entries: readonly [string, unknown][]): void {
		if (entries.some(([key]) => key === "__proto__")) this.anyEntries(entries);
		else this.safeTextEntries(entries);
	}

	private safeTextEntries(entries: readonly [string, unknown][]): void {
		let key = "";
		try {
			this.writer.mapHeader(entries.length);
			for (const entry of entries) {
				key = entry[0];
				this.writer.text(key);
				this.value(entry[1]);
			}
		} catch (error) {
			throw within(error, propertyPlace(key));
		}
	}

	private anyEntries(entries: readonly [unknown, unknown][]): void {
		this.writer.extension(EXTENSION.map, EXTENSION_GUESS, () => {
			this.writer.arrayHeader(entries.length * 2);
			for (const [index, [key, item]] of entries.entries()) {
				try {
					this.value(key);
				} catch (error) {
					throw within(error, `<key ${index}>`);
				}
				try {
					this.value(item);
				} catch (error) {
					throw within(
						error,
						typeof key === "object" ? `<value ${index}>` : `[${keyText(key)}]`,
					);
				}
			}
		});
	}

	private view(value: ArrayBufferView): void {
		if (value instanceof Uint8Array) this.binary(value);
		else if (dtypeOf(value) !== undefined) this.ndArray(NdArray.from(value));
		else
			throw new NoImage(
				`is ${describe(value)}, which has no image; send a Uint8Array or an NdArray`,
			);
	}

	private ndArray(value: NdArray): void {
		const bytes = value.bytes();
		const offset = this.attachment?.take(bytes);
		const inside = offset === undefined ? bytes.byteLength : 0;
		this.writer.extension(EXTENSION.ndArray, inside + EXTENSION_GUESS, () => {
			this.writer.arrayHeader(3);
			this.writer.text(value.dtype);
			this.writer.arrayHeader(value.shape.length);
			for (const extent of value.shape) this.writer.integer(extent);
			if (offset === undefined) this.writer.binary(bytes);
			else this.attached(offset, bytes.byteLength);
		});
	}

	private binary(bytes: Uint8Array): void {
		const offset = this.attachment?.take(bytes);
		if (offset === undefined) this.writer.binary(bytes);
		else this.attached(offset, bytes.byteLength);
	}

	private attached(offset: number, size: number): void {
		this.writer.extension(EXTENSION.attached, EXTENSION_GUESS, () => {
			this.writer.arrayHeader(2);
			this.writer.integer(offset);
			this.writer.integer(size);
		});
	}

	private instant(value: Date): void {
		const ms = value.getTime();
		if (Number.isNaN(ms))
			throw new NoImage(
				"is an invalid Date; send null where there is no instant",
			);
		if (ms < FIRST_INSTANT_MS || ms > LAST_INSTANT_MS) {
			throw new NoImage(
				`is ${value.toISOString()}, and Python's datetime has the years 1 to 9999`,
			);
		}
		const bytes = Buffer.allocUnsafe(8);
		bytes.writeBigInt64BE(BigInt(ms) * 1000n);
		this.writer.extension(EXTENSION.instant, bytes.length, () =>
			this.writer.raw(bytes),
		);
	}

	private extensionText(type: number, text: string): void {
		const bytes = Buffer.from(text, "latin1");
		this.writer.extension(type, bytes.length, () => this.writer.raw(bytes));
	}
}

function keyText(key: unknown): string {
	return typeof key === "string" ? JSON.stringify(key) : String(key);
}

/** Plain objects of any realm, and those without prototype. */
function isPlain(value: object): boolean {
	const prototype: unknown = Object.getPrototypeOf(value);
	return (
		prototype === null ||
		prototype === Object.prototype ||
		Object.getPrototypeOf(prototype) === null
	);
}
