import { isMap, isSet } from "node:util/types";
import { LENT_BYTES } from "../channel/frame-channel.ts";
import type { AttachmentSink } from "../shared-memory/attachment.ts";
import { encodeBigInteger, encodeLeaf, encodeNumber } from "./encode-leaf.ts";
import { EXTENSION, MAX_DEPTH } from "./extension-types.ts";
import {
	EXTENSION_GUESS,
	ImageWriter,
	SMALL_IMAGE_BYTES,
} from "./image-writer.ts";
import { areDateTimes, encodeDateTimes } from "./moments.ts";
import { describe, NoImage, propertyPlace, remedyFor } from "./no-image.ts";
import { Tuple } from "./tuple.ts";

/** How `encodeValue` writes an image. */
export interface EncodeOptions {
	/** A longer image throws `MESSAGE_TOO_LARGE`; by default there is no limit. */
	readonly maxBytes?: number | undefined;
	/** What paths in errors begin with; `$` by default. */
	readonly root?: string | undefined;
	/** Receives large parts; without it, everything stays in the image. */
	readonly attachment?: AttachmentSink | undefined;
}

/** What is around a value in a frame. */
export interface Envelope {
	/** How many bytes (fewer than 512) precede the value. The last 4 of them are its size; the caller writes the others. */
	readonly headBytes: number;
	/** Writes what follows the value. */
	writeEnd(writer: ImageWriter): void;
}

/** In an envelope, no value: no bytes. */
export const NO_VALUE: unique symbol = Symbol("no value");

/**
 * Writes a value as its image (docs/values.md).
 *
 * @throws InputError `VALUE_NOT_TRANSFERABLE` with the path of what cannot be sent, `MESSAGE_TOO_LARGE` past `maxBytes`.
 */
export function encodeValue(
	value: unknown,
	options: EncodeOptions = {},
): Uint8Array {
	return new Encoder(Buffer.allocUnsafe(SMALL_IMAGE_BYTES)).image(
		value,
		options,
	);
}

/** The same. The next image may overwrite its result, if that has no more than {@link LENT_BYTES}. */
export function encodeLentValue(
	value: unknown,
	options: EncodeOptions,
	envelope?: Envelope,
): Uint8Array {
	const encoder =
		lentEncoder ?? new Encoder(Buffer.allocUnsafe(SMALL_IMAGE_BYTES));
	if (encoder !== lentEncoder) return encoder.image(value, options, envelope);
	lentEncoder = undefined;
	try {
		return encoder.image(value, options, envelope);
	} finally {
		lentEncoder = encoder;
	}
}

/** Writes images, one after the other. */
class Encoder {
	private readonly writer: ImageWriter;
	/** The containers around the value at hand. */
	private readonly ancestors: object[] = [];
	private attachment: AttachmentSink | undefined;

	/** @param into where each image begins. */
	constructor(into: Buffer) {
		this.writer = new ImageWriter(into);
	}

	image(
		value: unknown,
		options: EncodeOptions,
		envelope?: Envelope,
	): Uint8Array {
		const { maxBytes = Number.MAX_SAFE_INTEGER } = options;
		this.attachment = options.attachment;
		this.writer.begin(
			maxBytes,
			envelope === undefined ? 0 : envelope.headBytes,
		);
		try {
			if (value !== NO_VALUE) this.value(value);
			if (envelope !== undefined) {
				this.writer.sizeAfter(envelope.headBytes);
				envelope.writeEnd(this.writer);
			}
		} catch (error) {
			this.ancestors.length = 0;
			this.writer.finish();
			throw NoImage.of(error).toInputError(options.root ?? "$");
		}
		return this.writer.finish();
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
				throw new NoImage(
					"is undefined, which is allowed only as a property of an object; send null",
				);
			default:
				throw new NoImage(
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
			throw new NoImage(
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
			throw new NoImage(
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
					throw new NoImage(
						"is a hole in a sparse array; send null, or an object with the indexes as keys",
					);
				}
				this.value(item);
			}
		} catch (error) {
			throw NoImage.of(error).within(`[${i}]`);
		}
	}

	private plainObject(value: object): void {
		const symbol = Object.getOwnPropertySymbols(value).find((key) =>
			Object.prototype.propertyIsEnumerable.call(value, key),
		);
		if (symbol !== undefined)
			throw new NoImage(
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
			throw NoImage.of(error).within(propertyPlace(keys[i] ?? ""));
		}
	}

	private anyEntries(
		keys: readonly unknown[],
		items: readonly unknown[],
	): void {
		this.writer.extension(EXTENSION.map, EXTENSION_GUESS, () => {
			this.writer.arrayHeader(keys.length * 2);
			for (const [index, key] of keys.entries()) {
				let place = `<key ${index}>`;
				try {
					this.value(key);
					place =
						typeof key === "object" ? `<value ${index}>` : `[${keyText(key)}]`;
					this.value(items[index]);
				} catch (error) {
					throw NoImage.of(error).within(place);
				}
			}
		});
	}
}

function propertyOf(value: object, key: string): unknown {
	try {
		return (value as Record<string, unknown>)[key];
	} catch (error) {
		throw NoImage.of(error).within(propertyPlace(key));
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

/** `undefined` while it writes an image: a getter of the value may start writing another one. */
let lentEncoder: Encoder | undefined = new Encoder(
	Buffer.allocUnsafeSlow(LENT_BYTES),
);
