import {
	closeSync,
	constants,
	fstatSync,
	ftruncateSync,
	openSync,
	readSync,
	rmSync,
	statfsSync,
	unlinkSync,
	writevSync,
} from "node:fs";
import { join } from "node:path";
import { clearTimeout, setTimeout } from "node:timers";
import type { SidebandPort } from "../channel/frame-channel.ts";

/** Runs an action later; returns a function that cancels it. */
export type After = (ms: number, action: () => void) => () => void;

/** A timer that does not keep the program running. */
export const afterUnreferenced: After = (ms, action) => {
	const timer = setTimeout(action, ms).unref();
	return () => clearTimeout(timer);
};

/** How much is kept for later values of one worker. */
interface KeptSegments {
	readonly count: number;
	/** The sum of their sizes. */
	readonly bytes: number;
	/** Memory that was not used for one to two of these intervals is freed. */
	readonly ms: number;
}

/**
 * The free segments of one worker. The host assigns them to calls, for
 * both directions; the worker only reports when one is free.
 */
export class Segments {
	readonly #store: SegmentStore;
	readonly #kept: KeptSegments;
	readonly #after: After;
	/** In the order in which they were used. */
	readonly #free: Segment[] = [];
	/** Discarded segments that were not yet reported to the worker. */
	gone: readonly string[] = [];
	#lastFile = 0;
	#cancelTrim: (() => void) | undefined;
	#isClosed = false;

	constructor(store: SegmentStore, kept: KeptSegments, after: After) {
		this.#store = store;
		this.#kept = kept;
		this.#after = after;
	}

	/** Takes a segment for a value of this many bytes, or creates one. @throws Error if that fails. */
	take(bytes: number): Segment {
		return this.spare(bytes) ?? this.#store.make(`h${++this.#lastFile}`);
	}

	/** Takes a segment for a value of this many bytes, if there is one. */
	spare(bytes: number): Segment | undefined {
		const segment = bestFit(this.#free, bytes);
		if (segment !== undefined)
			this.#free.splice(this.#free.indexOf(segment), 1);
		return segment;
	}

	/** Keeps a segment that no call uses any more. */
	giveBack(segment: Segment): void {
		if (this.#isClosed) {
			segment.close();
			return;
		}
		segment.measure();
		this.#free.push(segment);
		while (this.#isTooMuch()) this.discard(this.#free.shift());
		if (this.#free.length > 0) this.#cancelTrim ??= this.#trimLater();
	}

	/** Frees the memory of one and closes it. */
	discard(segment: Segment | undefined): void {
		if (segment === undefined) return;
		// The worker keeps it open until the next call reports it.
		segment.shrink(0);
		segment.close();
		this.gone = [...this.gone, segment.name];
	}

	/** Closes all: the conversation is over. */
	close(): void {
		this.#isClosed = true;
		this.#cancelTrim?.();
		for (const segment of this.#free.splice(0)) segment.close();
	}

	#isTooMuch(): boolean {
		const { count, bytes } = this.#kept;
		const sum = this.#free.reduce((sum, segment) => sum + segment.bytes, 0);
		return this.#free.length > count || sum > bytes;
	}

	#trimLater(): () => void {
		return this.#after(this.#kept.ms, () => {
			this.#cancelTrim = undefined;
			for (const segment of this.#free.splice(0)) {
				const { largest } = segment;
				segment.largest = 0;
				if (largest === 0) this.discard(segment);
				else {
					if (segment.bytes > largest) segment.shrink(largest);
					this.#free.push(segment);
				}
			}
			if (this.#free.length > 0) this.#cancelTrim = this.#trimLater();
		});
	}
}

/** Returns the smallest one that has room, otherwise the largest; of two of the same size, the one that was used last. */
export function bestFit<Sized extends { readonly bytes: number }>(
	free: readonly Sized[],
	bytes: number,
): Sized | undefined {
	return free.reduce<Sized | undefined>((best, segment) => {
		if (best === undefined) return segment;
		const isBetter =
			best.bytes < bytes
				? segment.bytes >= best.bytes
				: segment.bytes >= bytes && segment.bytes <= best.bytes;
		return isBetter ? segment : best;
	}, undefined);
}

/** Others need shared memory too: one value takes no more than this share of what is free. */
const SHARE_OF_FREE = 0.5;
/** The worker's files: `w1` holds one value, `s1` the chunks of a stream. */
const WORKER_FILE = /^[sw][0-9]{1,15}$/;
/** `O_NONBLOCK`: a pipe of that name must not block. */
const OPEN = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Where the files of one worker are. */
export interface SegmentStore {
	/** Creates one. @throws Error if that fails. */
	make(name: string): Segment;
	/** Takes over one that the worker created. @throws Error if it does not exist or is not a file. */
	received(name: string): Segment;
	/** Removes one that the worker created and that will not be read. */
	discard(name: string): void;
	/** Only for a worker behind a relay: sets the channel to it. */
	attach?(port: SidebandPort): void;
	/** Only for a worker behind a relay: takes bytes that the next frame's attachment names. */
	arrived?(name: string, offset: number, bytes: Uint8Array): void;
}

/** A file that is used for many values, one at a time. */
export interface Segment {
	readonly name: string;
	/** The size of the largest value in it since this was last reset. */
	largest: number;
	/** Its size when it was last measured. */
	readonly bytes: number;
	/** Measures its size: the worker writes to it, too. */
	measure(): void;
	/**
	 * Replaces the previous value.
	 *
	 * @throws Error if there is no room for it.
	 */
	write(parts: readonly Uint8Array[], size: number): void;
	/**
	 * Copies a value that the worker wrote.
	 *
	 * @throws Error if it is missing or shorter.
	 */
	read(size: number, offset?: number): Uint8Array;
	/** Frees the memory beyond this many bytes. */
	shrink(bytes: number): void;
	/** Closes it. The worker's mapping does not change. */
	close(): void;
}

/** The private directory of a worker of this machine, in shared memory. */
export class SharedDirectory implements SegmentStore {
	readonly #directory: string;

	constructor(directory: string) {
		this.#directory = directory;
	}

	make(name: string): Segment {
		return FileSegment.make(this.#directory, name);
	}

	received(name: string): Segment {
		return FileSegment.received(this.#directory, name);
	}

	discard(name: string): void {
		if (WORKER_FILE.test(name))
			rmSync(join(this.#directory, name), { force: true });
	}
}

/**
 * The host's side of a file in shared memory. Its pages cost more than the bytes that are written to them, so one file
 * is used for many values: one call at a time owns it, and while none does, only the host uses it.
 */
class FileSegment implements Segment {
	readonly name: string;
	largest = 0;
	readonly #directory: string;
	readonly #file: number;
	#bytes = 0;

	private constructor(directory: string, name: string, file: number) {
		this.name = name;
		this.#directory = directory;
		this.#file = file;
	}

	static make(directory: string, name: string): FileSegment {
		const file = openSync(join(directory, name), "wx+", 0o600);
		return new FileSegment(directory, name, file);
	}

	/** Opens a file that the worker created, and removes its name. */
	static received(directory: string, name: string): FileSegment {
		if (!WORKER_FILE.test(name))
			throw new Error(`no attachment has the name ${JSON.stringify(name)}`);
		const file = openSync(join(directory, name), OPEN);
		const segment = new FileSegment(directory, name, file);
		if (fstatSync(file).isFile()) {
			unlinkSync(join(directory, name));
			return segment;
		}
		segment.close();
		throw new Error("an attachment that is not a file");
	}

	get bytes(): number {
		return this.#bytes;
	}

	measure(): void {
		this.#bytes = fstatSync(this.#file).size;
	}

	write(parts: readonly Uint8Array[], size: number): void {
		const more = size - this.#bytes;
		if (more > 0) {
			const { bavail, bsize } = statfsSync(this.#directory);
			if (more > bavail * bsize * SHARE_OF_FREE) throw new Error("no room");
		}
		let left = [...parts];
		let at = 0;
		while (left.length > 0) {
			const written = writevSync(this.#file, left, at);
			at += written;
			left = rest(left, written);
		}
		this.largest = Math.max(this.largest, size);
	}

	read(size: number, offset = 0): Uint8Array {
		this.measure();
		if (this.#bytes < offset + size)
			throw new Error(
				`an attachment of ${this.#bytes} bytes where ${offset + size} were announced`,
			);
		const value = Buffer.allocUnsafeSlow(size);
		let at = 0;
		while (at < size) {
			const read = readSync(this.#file, value, at, size - at, offset + at);
			if (read === 0) throw new Error("an attachment that was cut short");
			at += read;
		}
		this.largest = Math.max(this.largest, size);
		return value;
	}

	shrink(bytes: number): void {
		ftruncateSync(this.#file, bytes);
		this.#bytes = bytes;
	}

	close(): void {
		closeSync(this.#file);
		// Its name still exists if the worker never opened it.
		rmSync(join(this.#directory, this.name), { force: true });
	}
}

/** The rest of some parts after their first `bytes`. */
function rest(parts: readonly Uint8Array[], bytes: number): Uint8Array[] {
	let written = bytes;
	return parts.flatMap((part) => {
		const here = Math.min(written, part.byteLength);
		written -= here;
		return here === part.byteLength ? [] : [part.subarray(here)];
	});
}
