/** Where an encoder puts bytes that are too large to be part of the image. */
export interface AttachmentSink {
	/** Returns where they are in the attachment; `undefined` when they belong into the image. */
	take(bytes: Uint8Array): number | undefined;
}

/** What a frame says of the file that holds the large parts of its value. */
export interface AttachmentName {
	readonly name: string;
	readonly size: number;
	/** Where it begins, in a file that the chunks of a stream take turns in. */
	readonly offset: number;
}

/** A value as it crosses: its image, and the file beside it. */
export interface ValueImage {
	readonly value: Uint8Array;
	readonly attachment?: AttachmentName | undefined;
}

/** How much a value has on its way. */
export function bytesOf({ value, attachment }: ValueImage): number {
	return value.length + (attachment?.size ?? 0);
}

/** Elements of every dtype are aligned, also for vector instructions. */
const ALIGNMENT = 64;

/** The large parts of one value, in order; nothing is copied before they are written. */
export class Attachment implements AttachmentSink {
	readonly #fromBytes: number;
	readonly #parts: Uint8Array[] = [];
	#size = 0;

	/** @param fromBytes smaller ones belong into the image. */
	constructor(fromBytes: number) {
		this.#fromBytes = fromBytes;
	}

	get size(): number {
		return this.#size;
	}

	/** The content of the file. */
	get parts(): readonly Uint8Array[] {
		return this.#parts;
	}

	take(bytes: Uint8Array): number | undefined {
		if (bytes.byteLength < this.#fromBytes) return undefined;
		const offset = Math.ceil(this.#size / ALIGNMENT) * ALIGNMENT;
		if (offset > this.#size)
			this.#parts.push(new Uint8Array(offset - this.#size));
		this.#parts.push(bytes);
		this.#size = offset + bytes.byteLength;
		return offset;
	}
}
