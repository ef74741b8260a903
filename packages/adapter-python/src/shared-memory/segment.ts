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
import type { BesidePort } from "../channel/frame-channel.ts";

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
	attach?(port: BesidePort): void;
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
