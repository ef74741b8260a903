import {
	closeSync,
	fstatSync,
	ftruncateSync,
	openSync,
	rmSync,
	statfsSync,
	writevSync,
} from "node:fs";
import { join } from "node:path";
import { openReceived, readBytes } from "./received-file.ts";

/** Others need shared memory too: of what is free, one value takes no more than this. */
const SHARE_OF_FREE = 0.5;

/**
 * The host's side of a file in which values of one worker take turns: its pages,
 * which cost more than what is written to them, are found once. One call at a time
 * has it, and while none has it, it is the host's.
 */
export class Segment {
	readonly name: string;
	/** The most that a value in it had since this was forgotten last. */
	largest = 0;
	readonly #directory: string;
	readonly #file: number;
	#bytes = 0;

	private constructor(directory: string, name: string, file: number) {
		this.name = name;
		this.#directory = directory;
		this.#file = file;
	}

	/** Makes one. @throws Error when it cannot be made. */
	static make(directory: string, name: string): Segment {
		const file = openSync(join(directory, name), "wx+", 0o600);
		return new Segment(directory, name, file);
	}

	/** Takes one that the worker made. @throws Error when it is none. */
	static received(directory: string, name: string): Segment {
		const { file } = openReceived(join(directory, name));
		return new Segment(directory, name, file);
	}

	/** How much there is of it, since it was measured. */
	get bytes(): number {
		return this.#bytes;
	}

	/** Sees how much there is of it: the worker writes to it, too. */
	measure(): void {
		this.#bytes = fstatSync(this.#file).size;
	}

	/**
	 * Writes a value over the one before.
	 *
	 * @throws Error when there is no room for it.
	 */
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

	/**
	 * Reads a value that the worker wrote.
	 *
	 * @throws Error when it is not there.
	 */
	read(size: number): Uint8Array {
		this.measure();
		if (this.#bytes < size)
			throw new Error(
				`an attachment of ${this.#bytes} bytes where ${size} were announced`,
			);
		const value = readBytes(this.#file, 0, size);
		this.largest = Math.max(this.largest, size);
		return value;
	}

	/** Gives back the memory of what is beyond so many bytes. */
	shrink(bytes: number): void {
		ftruncateSync(this.#file, bytes);
		this.#bytes = bytes;
	}

	/** Lets go of it. What the worker has of it stays as it is. */
	close(): void {
		closeSync(this.#file);
		// Where the worker never opened it, it is there still.
		rmSync(join(this.#directory, this.name), { force: true });
	}
}

/** What is left of some parts after the first `bytes` of them. */
function rest(parts: readonly Uint8Array[], bytes: number): Uint8Array[] {
	let written = bytes;
	return parts.flatMap((part) => {
		const here = Math.min(written, part.byteLength);
		written -= here;
		return here === part.byteLength ? [] : [part.subarray(here)];
	});
}
