import {
	Attachment,
	type AttachmentName,
	type AttachmentSink,
	type ValueImage,
} from "./attachment.ts";
import { CallMemory } from "./call-memory.ts";
import { RelayedSegments } from "./relayed-segments.ts";
import { type SegmentStore, SharedDirectory } from "./segment.ts";
import { type After, afterUnreferenced, Segments } from "./segments.ts";

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
	 * Encodes the arguments of a call with their large parts beside them, or completely in the image if there is no room
	 * for those. Also reserves a segment for a result, if one of this command was shared before. Most calls are small:
	 * they get no shared memory until their answer needs it.
	 */
	encodeArguments<Given extends { readonly command: string }>(
		given: Given,
		encode: (given: Given, sink?: AttachmentSink) => Uint8Array,
		answer: "result" | "stream",
	): { readonly image: ValueImage; readonly memory: CallMemory | undefined } {
		const { command } = given;
		const sink = this.#emptySink ?? new Attachment(this.limits.fromBytes);
		this.#emptySink = undefined;
		let image: ValueImage = { value: encode(given, sink) };
		if (sink.size === 0) this.#emptySink = sink;
		const expectsResult = answer === "result" && this.resultBytes.has(command);
		if (sink.size === 0 && !expectsResult) return { image, memory: undefined };
		const memory = this.call(command);
		if (sink.size > 0) {
			const attachment = memory.arguments(sink);
			image =
				attachment === undefined
					? { value: encode(given) }
					: { value: image.value, attachment };
		}
		if (expectsResult) memory.expectResult();
		return { image, memory };
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
