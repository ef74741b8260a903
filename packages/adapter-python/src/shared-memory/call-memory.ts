import type { Attachment, AttachmentName } from "./attachment.ts";
import type { Segment } from "./segment.ts";
import type { SharedMemory } from "./shared-memory.ts";

/** The room of one chunk in the file of its stream; a larger chunk has a file of its own. */
const CHUNK_ROOM = 1024 * 1024;

/** The shared memory of one call, from its first frame to its terminal one. */
export class CallMemory {
	readonly #memory: SharedMemory;
	readonly #command: string;
	#arguments: Segment | undefined;
	#result: Segment | undefined;
	/** The file in which the chunks of a stream take turns. */
	#stream: Segment | undefined;
	#isClosed = false;

	/** @param command the tool: the size of its results is remembered. */
	constructor(memory: SharedMemory, command: string) {
		this.#memory = memory;
		this.#command = command;
	}

	/** The segment to which the worker may write its result. */
	get resultSegment(): string {
		return this.#result?.name ?? "";
	}

	/** Writes the large parts of the arguments; `undefined` if there is no room for them. */
	arguments(attachment: Attachment): AttachmentName | undefined {
		this.#arguments = this.#written(attachment);
		return (
			this.#arguments && {
				name: this.#arguments.name,
				size: attachment.size,
				offset: 0,
			}
		);
	}

	/** Reserves a segment for a result, if one of this command was shared before. */
	expectResult(): void {
		const bytes = this.#memory.resultBytes.get(this.#command);
		if (bytes !== undefined) this.#result = this.#memory.segments.spare(bytes);
	}

	/**
	 * Reads the large parts of the result.
	 *
	 * @throws Error when they are not in a file of this call, or not as announced.
	 */
	result({ name, size }: AttachmentName, argumentsFree: boolean): Uint8Array {
		this.#checkSize(size);
		if (name === this.#arguments?.name && !argumentsFree)
			throw new Error(`an attachment in ${name}, whose arguments are in use`);
		const segment =
			[this.#arguments, this.#result].find((own) => own?.name === name) ??
			this.#newResult(name);
		this.#memory.resultBytes.set(this.#command, size);
		return segment.read(size);
	}

	/**
	 * Reads the large parts of a chunk. They are copied at once: the worker writes over
	 * them when it has credit for another chunk.
	 *
	 * @throws Error when there is no such file, or it is not as announced.
	 */
	chunk({ name, size, offset }: AttachmentName): Uint8Array {
		if (this.#isClosed) throw new Error("an attachment after the end");
		this.#checkSize(size);
		if (!name.startsWith("s")) {
			const segment = this.#received(name);
			try {
				return segment.read(size);
			} finally {
				segment.close();
			}
		}
		this.#stream ??= this.#received(name);
		if (name !== this.#stream.name)
			throw new Error(
				`an attachment in ${name}, and the file of its stream is ${this.#stream.name}`,
			);
		if (size > CHUNK_ROOM)
			throw new Error(
				`an attachment of ${size} bytes, but a chunk has room for ${CHUNK_ROOM}`,
			);
		return this.#stream.read(size, offset);
	}

	/** Ends it. @param argumentsFree whether nothing in the worker refers to the arguments. */
	close(argumentsFree: boolean): void {
		this.#isClosed = true;
		this.#stream?.close();
		const { segments } = this.#memory;
		if (this.#result !== undefined) segments.giveBack(this.#result);
		if (this.#arguments === undefined) return;
		if (argumentsFree) segments.giveBack(this.#arguments);
		else this.#arguments.close();
	}

	/** Returns the segment that the parts were written to; `undefined` if there is no room for them. */
	#written({ parts, size }: Attachment): Segment | undefined {
		const { segments, limits } = this.#memory;
		if (size > limits.limitBytes) return undefined;
		let segment: Segment | undefined;
		try {
			segment = segments.take(size);
			segment.write(parts, size);
			return segment;
		} catch {
			// The memory is full, or the directory is gone: the value can still be sent as a message.
			if (segment !== undefined) segments.discard(segment);
			return undefined;
		}
	}

	#checkSize(size: number): void {
		const { limitBytes } = this.#memory.limits;
		if (size > limitBytes)
			throw new Error(
				`an attachment of ${size} bytes, but the limit is ${limitBytes} (sharedMemory.limitBytes)`,
			);
	}

	#newResult(name: string): Segment {
		const segment = this.#received(name);
		// No other result can follow: the reserved segment is not needed.
		if (this.#result !== undefined)
			this.#memory.segments.giveBack(this.#result);
		this.#result = segment;
		return segment;
	}

	#received(name: string): Segment {
		return this.#memory.store.received(name);
	}
}
