import { type Envelope, lentEncoder } from "../values/encode-value.ts";
import { RelayedSegments } from "./relayed-segments.ts";
import {
	type After,
	afterUnreferenced,
	type Segment,
	type SegmentStore,
	Segments,
	SharedDirectory,
} from "./segments.ts";

/** Where an encoder puts bytes that are too large for the encoding. */
export interface AttachmentSink {
	/** Returns their offset in the attachment; `undefined` if they belong in the encoding. */
	take(bytes: Uint8Array): number | undefined;
}

/** The file that holds the large parts of a value, as a frame names it. */
export interface AttachmentName {
	readonly name: string;
	readonly size: number;
	/** Where the parts begin in the file; more than 0 only in the file of a stream. */
	readonly offset: number;
}

/** A value in the form in which it is sent: its encoding, and the file beside it. */
export interface EncodedValue {
	readonly value: Uint8Array;
	readonly attachment?: AttachmentName | undefined;
}

/** The bytes of a value, those in its file included. */
export function bytesOf({ value, attachment }: EncodedValue): number {
	return value.length + (attachment?.size ?? 0);
}

/** Elements of every dtype are aligned, also for vector instructions. */
const ALIGNMENT = 64;

/** The large parts of one value, in order; nothing is copied before they are written. */
export class Attachment implements AttachmentSink {
	readonly #fromBytes: number;
	readonly #parts: Uint8Array[] = [];
	size = 0;

	/** @param fromBytes smaller parts belong in the encoding. */
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
	 * Reads the large parts of a chunk. They are copied immediately: the worker writes over
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

/** Which values are shared with one worker. */
export interface SharingLimits {
	/** Parts of a value from this size on are shared. */
	readonly fromBytes: number;
	/** The most that one value may take. */
	readonly limitBytes: number;
}

/** How values are shared with a worker of this machine. */
export interface SharedMemorySetting extends SharingLimits {
	/** Belongs to this worker alone, and is removed with it. */
	readonly directory: string;
}

/** The share of `limitBytes` that is kept for later values. */
const KEPT_SHARE = 0.25;
const KEPT_COUNT = 8;
const KEPT_MS = 5000;

/**
 * Hands over the large parts of values as files in shared memory.
 *
 * The receiver removes the name of a file as soon as it is open; the sender removes
 * files that were never received; the rest is removed with the worker's directory.
 */
export class SharedMemory {
	readonly limits: SharingLimits;
	readonly store: SegmentStore;
	readonly segments: Segments;
	/** The size of the last result that was shared, by command. */
	readonly resultBytes: Map<string, number> = new Map();
	/** Reused for the arguments of the next call: most have no large parts. */
	#emptySink: Attachment | undefined;

	/** @param store where the worker's files are. */
	constructor(
		limits: SharingLimits,
		store: SegmentStore,
		after: After = afterUnreferenced,
	) {
		this.limits = limits;
		this.store = store;
		const bytes = limits.limitBytes * KEPT_SHARE;
		const kept = { count: KEPT_COUNT, bytes, ms: KEPT_MS };
		this.segments = new Segments(store, kept, after);
	}

	/** Shares memory with a worker of this machine. */
	static inDirectory(setting: SharedMemorySetting): SharedMemory {
		return new SharedMemory(setting, new SharedDirectory(setting.directory));
	}

	/** Shares memory with a worker on another machine, through a relay that has this much room; `undefined` if it has none. */
	static behindRelay(
		{ fromBytes, limitBytes }: SharingLimits,
		room: number,
	): SharedMemory | undefined {
		if (room === 0) return undefined;
		const limits = { fromBytes, limitBytes: Math.min(limitBytes, room) };
		return new SharedMemory(limits, new RelayedSegments());
	}

	/** The part of it that one call uses. */
	call(command: string): CallMemory {
		return new CallMemory(this, command);
	}

	/**
	 * Encodes the arguments of a call with their large parts beside them, or completely in the encoding if there is no room
	 * for those. Also reserves a segment for a result, if one of this command was shared before. Most calls are small:
	 * they get no shared memory until their answer needs it.
	 */
	encodeArguments(
		command: string,
		args: unknown,
		maxBytes: number,
		envelope: Envelope | undefined,
		answer: "result" | "stream",
	): {
		readonly encoded: EncodedValue;
		readonly memory: CallMemory | undefined;
	} {
		const sink = this.#emptySink ?? new Attachment(this.limits.fromBytes);
		this.#emptySink = undefined;
		let encoded: EncodedValue = {
			value: lentEncoder.encode(args, { maxBytes, attachment: sink }, envelope),
		};
		if (sink.size === 0) this.#emptySink = sink;
		const expectsResult = answer === "result" && this.resultBytes.has(command);
		if (sink.size === 0 && !expectsResult)
			return { encoded, memory: undefined };
		const memory = this.call(command);
		if (sink.size > 0) {
			const attachment = memory.arguments(sink);
			encoded =
				attachment === undefined
					? { value: lentEncoder.encode(args, { maxBytes }, envelope) }
					: { value: encoded.value, attachment };
		}
		if (expectsResult) memory.expectResult();
		return { encoded, memory };
	}

	/** Removes a file that will not be read. */
	discard({ name }: AttachmentName): void {
		this.store.discard(name);
	}

	/** Closes the segments that are kept: the conversation is over. */
	close(): void {
		this.segments.close();
	}
}
