import type { AttachmentSink } from "../shared-memory/attachment.ts";
import { encodeBigInteger, encodeLeaf, encodeNumber } from "./encode-leaf.ts";
import { EXTENSION, MAX_DEPTH } from "./extension-types.ts";
import { EXTENSION_GUESS, ImageWriter } from "./image-writer.ts";
import { describe, NoImage, propertyPlace, within } from "./no-image.ts";
import { Tuple } from "./tuple.ts";

/** How `encodeValue` writes an image. */
export interface EncodeOptions {
	/** A longer image is `MESSAGE_TOO_LARGE`; without it there is no bound. */
	readonly maxBytes?: number | undefined;
	/** What paths in errors begin with; `$` by default. */
	readonly root?: string | undefined;
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
				else if (!encodeLeaf(this.writer, value, this.attachment))
					this.container(value);
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
