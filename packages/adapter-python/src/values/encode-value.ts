import {
	isArrayBuffer,
	isDate,
	isMap,
	isSet,
	isUint8Array,
} from "node:util/types";
import { LENT_BYTES } from "../channel/frame-channel.ts";
import type { AttachmentSink } from "../shared-memory/shared-memory.ts";
import { bytesOfTable, isArrow } from "./arrow-table.ts";
import {
	areDateTimes,
	encodeDateTime,
	encodeDateTimes,
	PlainDate,
	PlainDateTime,
} from "./dates.ts";
import {
	EXTENSION,
	FIRST_INSTANT_MS,
	LAST_INSTANT_MS,
	MAX_DEPTH,
} from "./extensions.ts";
import { Handle } from "./handle.ts";
import {
	EXTENSION_GUESS,
	MessagePackWriter,
	SMALL_VALUE_BYTES,
} from "./message-pack-writer.ts";
import { dtypeOf, NdArray } from "./nd-array.ts";
import { Float, Tuple } from "./python-types.ts";
import {
	describe,
	propertyPosition,
	remedyFor,
	ValueNotTransferable,
} from "./value-not-transferable.ts";

// Functions, not a class: an encoder is created for each value and needs no second object.

function encodeNumber(writer: MessagePackWriter, value: number): void {
	if (Number.isSafeInteger(value) && !Object.is(value, -0))
		writer.integer(value);
	else writer.float(value);
}

function encodeBigInteger(writer: MessagePackWriter, value: bigint): void {
	if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER)
		writer.integer(Number(value));
	else if (value >= LEAST_LONG && value <= MOST_LONG) writer.longInteger(value);
	else {
		const bytes = bigIntegerBytes(value);
		writer.extension(EXTENSION.bigInteger, bytes.length, () =>
			writer.raw(bytes),
		);
	}
}

/**
 * Writes an object that contains no other values; returns false if the value is not one.
 *
 * @param attachment takes large parts; without it, everything is in the encoding.
 */
function encodeLeaf(
	writer: MessagePackWriter,
	value: object,
	attachment: AttachmentSink | undefined,
): boolean {
	// Not `instanceof`: a value may be of another realm, as that of `node:vm`, in which Jest runs tests.
	if (isUint8Array(value)) encodeBinary(writer, value, attachment);
	else if (isArrayBuffer(value))
		encodeBinary(writer, new Uint8Array(value), attachment);
	else if (ArrayBuffer.isView(value)) {
		if (dtypeOf(value) === undefined) {
			throw new ValueNotTransferable(
				`is ${describe(value)}, which cannot be sent to Python; send a Uint8Array or an NdArray`,
			);
		}
		encodeNdArray(writer, NdArray.from(value), attachment);
	} else if (isDate(value)) encodeInstant(writer, value);
	else if (value instanceof Float) writer.float(value.value);
	else if (value instanceof PlainDate)
		encodeText(writer, EXTENSION.date, value.toString());
	else if (value instanceof PlainDateTime) encodeDateTime(writer, value);
	else if (value instanceof NdArray) encodeNdArray(writer, value, attachment);
	else if (isArrow(value)) encodeTable(writer, value, attachment);
	else if (value instanceof Handle) encodeHandle(writer, value);
	else return false;
	return true;
}

function encodeHandle(
	writer: MessagePackWriter,
	{ token, type }: Handle,
): void {
	writer.extension(EXTENSION.handle, EXTENSION_GUESS, () => {
		writer.arrayHeader(2);
		writer.binary(token);
		writer.text(type);
	});
}

function encodeNdArray(
	writer: MessagePackWriter,
	value: NdArray,
	attachment: AttachmentSink | undefined,
): void {
	const bytes = value.bytes();
	const offset = attachment?.take(bytes);
	const inside = offset === undefined ? bytes.byteLength : 0;
	writer.extension(EXTENSION.ndArray, inside + EXTENSION_GUESS, () => {
		writer.arrayHeader(3);
		writer.text(value.dtype);
		writer.arrayHeader(value.shape.length);
		for (const extent of value.shape) writer.integer(extent);
		writeBytes(writer, bytes, offset);
	});
}

function encodeTable(
	writer: MessagePackWriter,
	value: object,
	attachment: AttachmentSink | undefined,
): void {
	const bytes = bytesOfTable(value);
	const offset = attachment?.take(bytes);
	const inside = offset === undefined ? bytes.byteLength : 0;
	writer.extension(EXTENSION.table, inside + EXTENSION_GUESS, () =>
		writeBytes(writer, bytes, offset),
	);
}

function encodeBinary(
	writer: MessagePackWriter,
	bytes: Uint8Array,
	attachment: AttachmentSink | undefined,
): void {
	writeBytes(writer, bytes, attachment?.take(bytes));
}

/** @param offset where they are in the attachment; `undefined` writes them into the encoding. */
function writeBytes(
	writer: MessagePackWriter,
	bytes: Uint8Array,
	offset: number | undefined,
): void {
	if (offset === undefined) {
		writer.binary(bytes);
		return;
	}
	writer.extension(EXTENSION.attached, EXTENSION_GUESS, () => {
		writer.arrayHeader(2);
		writer.integer(offset);
		writer.integer(bytes.byteLength);
	});
}

function encodeInstant(writer: MessagePackWriter, value: Date): void {
	const ms = value.getTime();
	if (Number.isNaN(ms))
		throw new ValueNotTransferable("is an invalid Date; send null instead");
	if (ms < FIRST_INSTANT_MS || ms > LAST_INSTANT_MS) {
		throw new ValueNotTransferable(
			`is ${value.toISOString()}, which is outside the years 1 to 9999 of Python's datetime`,
		);
	}
	const seconds = Math.floor(ms / 1000);
	writer.timestamp(seconds, (ms - seconds * 1000) * 1_000_000);
}

/** Writes ASCII text as the content of an extension. */
function encodeText(
	writer: MessagePackWriter,
	type: number,
	text: string,
): void {
	const bytes = Buffer.from(text, "latin1");
	writer.extension(type, bytes.length, () => writer.raw(bytes));
}

/** The range of MessagePack's own integers. */
const LEAST_LONG = -(2n ** 63n);
const MOST_LONG = 2n ** 64n - 1n;

/** Returns the shortest two's complement, big-endian. */
function bigIntegerBytes(value: bigint): Uint8Array {
	// A negative number has as many bits as its complement; one more is for the sign.
	const bits = (value < 0n ? ~value : value).toString(2).length + 1;
	const size = Math.ceil(bits / 8);
	const hex = BigInt.asUintN(size * 8, value).toString(16);
	return Buffer.from(hex.padStart(size * 2, "0"), "hex");
}

/** How `encodeValue` writes an encoding. */
export interface EncodeOptions {
	/** A longer encoding throws `MESSAGE_TOO_LARGE`; by default there is no limit. */
	readonly maxBytes?: number | undefined;
	/** What paths in errors begin with; `$` by default. */
	readonly root?: string | undefined;
	/** Receives large parts; without it, everything stays in the encoding. */
	readonly attachment?: AttachmentSink | undefined;
}

/** What is around a value in a frame. */
export interface Envelope {
	/** How many bytes (fewer than 512) precede the value. */
	readonly headBytes: number;
	/** Called with the value written: writes what precedes it, and what follows it. */
	write(writer: MessagePackWriter): void;
}

/** In an envelope, no value: no bytes. */
export const NO_VALUE: unique symbol = Symbol("no value");

/**
 * Writes a value as its encoding (docs/values.md).
 *
 * @throws InputError `VALUE_NOT_TRANSFERABLE` with the path of what cannot be sent, `MESSAGE_TOO_LARGE` past `maxBytes`.
 */
export function encodeValue(
	value: unknown,
	options: EncodeOptions = {},
): Uint8Array {
	return new Encoder(Buffer.allocUnsafe(SMALL_VALUE_BYTES)).encode(
		value,
		options,
	);
}

/** Writes encodings, one after the other. */
class Encoder {
	private readonly into: Buffer;
	private readonly writer: MessagePackWriter;
	/** The containers around the current value. */
	private readonly ancestors: object[] = [];
	private attachment: AttachmentSink | undefined;
	private use: "free" | "writing" = "free";

	/** @param into where each encoding begins. */
	constructor(into: Buffer) {
		this.into = into;
		this.writer = new MessagePackWriter(into);
	}

	/** The next encoding may overwrite the result, if that has room in `into`. */
	encode(
		value: unknown,
		options: EncodeOptions,
		envelope?: Envelope,
	): Uint8Array {
		// A getter of a value may begin another one.
		if (this.use === "writing")
			return new Encoder(Buffer.allocUnsafe(SMALL_VALUE_BYTES)).encode(
				value,
				options,
				envelope,
			);
		this.use = "writing";
		this.attachment = options.attachment;
		const { writer } = this;
		writer.limit = options.maxBytes ?? Number.MAX_SAFE_INTEGER;
		writer.length = envelope === undefined ? 0 : envelope.headBytes;
		try {
			if (value !== NO_VALUE) this.value(value);
			envelope?.write(writer);
			return writer.bytes.subarray(0, writer.length);
		} catch (error) {
			this.ancestors.length = 0;
			throw ValueNotTransferable.of(error).toInputError(options.root ?? "$");
		} finally {
			// A large one is not kept here.
			writer.bytes = this.into;
			this.use = "free";
		}
	}

	private value(value: unknown): void {
		switch (typeof value) {
			case "string":
				this.writer.text(value);
				break;
			case "number":
				encodeNumber(this.writer, value);
				break;
			case "boolean":
				this.writer.boolean(value);
				break;
			case "bigint":
				encodeBigInteger(this.writer, value);
				break;
			case "object":
				if (value === null) this.writer.nil();
				else this.object(value);
				break;
			case "undefined":
				throw new ValueNotTransferable(
					"is undefined, which is allowed only as a property of an object; send null",
				);
			default:
				throw new ValueNotTransferable(
					`is ${describe(value)}, which cannot be sent to another process; send plain data`,
				);
		}
	}

	private object(value: object): void {
		const prototype: unknown = Object.getPrototypeOf(value);
		// Nearly all objects are one of these two; checking for each of our classes first would cost more than a small
		// object.
		const isUsual =
			prototype === Object.prototype || prototype === Array.prototype;
		if (!isUsual && encodeLeaf(this.writer, value, this.attachment)) return;
		if (this.ancestors.length >= MAX_DEPTH) {
			throw new ValueNotTransferable(
				this.ancestors.includes(value)
					? "contains itself; send a value without cycles"
					: `is more than ${MAX_DEPTH} levels deep; send a flatter value`,
			);
		}
		this.ancestors.push(value);
		if (prototype === Array.prototype) {
			const items = value as unknown[];
			// Most lists are ruled out without a call.
			if (typeof items[0] === "object" && areDateTimes(items))
				encodeDateTimes(this.writer, items);
			else this.items(items);
		} else if (value instanceof Tuple) this.listInside(EXTENSION.tuple, value);
		else if (Array.isArray(value)) this.items(value);
		else if (isMap(value)) this.map(value);
		else if (isSet(value)) this.listInside(EXTENSION.set, [...value]);
		else if (isPlain(prototype)) this.plainObject(value);
		else
			throw new ValueNotTransferable(
				`is ${describe(value)}, which cannot be sent to Python; ${remedyFor(value)}`,
			);
		this.ancestors.pop();
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
					throw new ValueNotTransferable(
						"is a hole in a sparse array; send null, or an object with the indexes as keys",
					);
				}
				this.value(item);
			}
		} catch (error) {
			throw ValueNotTransferable.of(error).within(`[${i}]`);
		}
	}

	private plainObject(value: object): void {
		const symbol = Object.getOwnPropertySymbols(value).find((key) =>
			Object.prototype.propertyIsEnumerable.call(value, key),
		);
		if (symbol !== undefined)
			throw new ValueNotTransferable(
				`has the key ${String(symbol)}, which is a symbol and cannot be sent`,
			);
		const keys: string[] = [];
		const items: unknown[] = [];
		for (const key of Object.keys(value)) {
			// Read once: a getter may return something else the next time.
			const property = propertyOf(value, key);
			if (property === undefined) continue;
			keys.push(key);
			items.push(property);
		}
		this.entries(keys, items);
	}

	private map(value: ReadonlyMap<unknown, unknown>): void {
		this.entries([...value.keys()], [...value.values()]);
	}

	private entries(keys: readonly unknown[], items: readonly unknown[]): void {
		const areText = keys.every(
			(key) => typeof key === "string" && key !== "__proto__",
		);
		if (areText) this.textEntries(keys as readonly string[], items);
		else this.anyEntries(keys, items);
	}

	private textEntries(
		keys: readonly string[],
		items: readonly unknown[],
	): void {
		let i = 0;
		try {
			this.writer.mapHeader(keys.length);
			for (; i < keys.length; i++) {
				this.writer.text(keys[i] as string);
				this.value(items[i]);
			}
		} catch (error) {
			throw ValueNotTransferable.of(error).within(
				propertyPosition(keys[i] ?? ""),
			);
		}
	}

	private anyEntries(
		keys: readonly unknown[],
		items: readonly unknown[],
	): void {
		this.writer.extension(EXTENSION.map, EXTENSION_GUESS, () => {
			this.writer.arrayHeader(keys.length * 2);
			for (const [index, key] of keys.entries()) {
				let position = `<key ${index}>`;
				try {
					this.value(key);
					position =
						typeof key === "object" ? `<value ${index}>` : `[${keyText(key)}]`;
					this.value(items[index]);
				} catch (error) {
					throw ValueNotTransferable.of(error).within(position);
				}
			}
		});
	}
}

function propertyOf(value: object, key: string): unknown {
	try {
		return (value as Record<string, unknown>)[key];
	} catch (error) {
		throw ValueNotTransferable.of(error).within(propertyPosition(key));
	}
}

function keyText(key: unknown): string {
	return typeof key === "string" ? JSON.stringify(key) : String(key);
}

/** Whether objects of this prototype are plain: those of any realm, and those without prototype. */
function isPlain(prototype: unknown): boolean {
	return (
		prototype === null ||
		prototype === Object.prototype ||
		Object.getPrototypeOf(prototype) === null
	);
}

/** For what is sent before the next one is written: encodings of up to {@link LENT_BYTES} are in one buffer. */
export const lentEncoder: Encoder = new Encoder(
	Buffer.allocUnsafeSlow(LENT_BYTES),
);
