/** Where an encoder puts bytes that are too large for the image. */
export interface AttachmentSink {
	/** Returns their offset in the attachment; `undefined` if they belong in the image. */
	take(bytes: Uint8Array): number | undefined;
}

/** The file that holds the large parts of a value, as a frame names it. */
export interface AttachmentName {
	readonly name: string;
	readonly size: number;
	/** Where the parts begin in the file; more than 0 only in the file of a stream. */
	readonly offset: number;
}

/** A value in the form in which it is sent: its image, and the file beside it. */
export interface ValueImage {
	readonly value: Uint8Array;
	readonly attachment?: AttachmentName | undefined;
}

/** The bytes of a value, those in its file included. */
export function bytesOf({ value, attachment }: ValueImage): number {
	return value.length + (attachment?.size ?? 0);
}

/** Elements of every dtype are aligned, also for vector instructions. */
const ALIGNMENT = 64;

/** The large parts of one value, in order; nothing is copied before they are written. */
export class Attachment implements AttachmentSink {
	readonly #fromBytes: number;
	readonly #parts: Uint8Array[] = [];
	size = 0;

	/** @param fromBytes smaller parts belong in the image. */
	constructor(fromBytes: number) {
		this.#fromBytes = fromBytes;
	}

	/** The content of the file. */
	get parts(): readonly Uint8Array[] {
		return this.#parts;
	}

	take(bytes: Uint8Array): number | undefined {
		if (bytes.byteLength < this.#fromBytes) return undefined;
		const offset = Math.ceil(this.size / ALIGNMENT) * ALIGNMENT;
		if (offset > this.size)
			this.#parts.push(new Uint8Array(offset - this.size));
		this.#parts.push(bytes);
		this.size = offset + bytes.byteLength;
		return offset;
	}
}
