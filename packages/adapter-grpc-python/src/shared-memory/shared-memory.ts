import { closeSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Attachment, AttachmentName } from "./attachment.ts";
import { CallMemory } from "./call-memory.ts";
import { openReceived, readBytes } from "./received-file.ts";
import type { Segment } from "./segment.ts";
import { type After, afterUnreferenced, Segments } from "./segments.ts";

/** How values are shared with one worker. */
export interface SharedMemorySetting {
	/** Of this worker alone, and removed when it is gone. */
	readonly directory: string;
	/** Parts of a value from this size on are shared. */
	readonly fromBytes: number;
	/** What one value may take. */
	readonly limitBytes: number;
}

/** Of what one value may take, so much is kept for later ones. */
const KEPT_SHARE = 0.25;
const KEPT_COUNT = 8;
const KEPT_MS = 5000;
/** What the worker calls its files. */
const WORKERS_NAME = /^w[0-9]{1,15}$/;

/**
 * Large parts of values, handed over as files in shared memory.
 *
 * Who receives a file removes it as soon as it is open; who made it removes what
 * was never received; what both leave behind goes with the worker's directory.
 */
export class SharedMemory {
	readonly setting: SharedMemorySetting;
	readonly segments: Segments;
	readonly #resultBytes = new Map<string, number>();

	constructor(setting: SharedMemorySetting, after: After = afterUnreferenced) {
		this.setting = setting;
		const bytes = setting.limitBytes * KEPT_SHARE;
		const kept = { count: KEPT_COUNT, bytes, ms: KEPT_MS };
		this.segments = new Segments(setting.directory, kept, after);
	}

	/** What a call gets of it. */
	call(command: string): CallMemory {
		return new CallMemory(this, command);
	}

	/** Returns where the parts are; `undefined` when there is no room for them. */
	write({ parts, size }: Attachment): Segment | undefined {
		if (size > this.setting.limitBytes) return undefined;
		let segment: Segment | undefined;
		try {
			segment = this.segments.take(size);
			segment.write(parts, size);
			return segment;
		} catch {
			// Full, or gone: the plain way is there still.
			if (segment !== undefined) this.segments.discard(segment);
			return undefined;
		}
	}

	/** @throws Error when it is more than a value may have. */
	checkSize(size: number): void {
		const { limitBytes } = this.setting;
		if (size > limitBytes)
			throw new Error(
				`an attachment of ${size} bytes, and the limit is ${limitBytes} (sharedMemory.limitBytes)`,
			);
	}

	/** A result of this command was so large. */
	remember(command: string, bytes: number): void {
		this.#resultBytes.set(command, bytes);
	}

	/** A segment for a result like the one before, if that was shared and there is one. */
	spareForResult(command: string): Segment | undefined {
		const bytes = this.#resultBytes.get(command);
		return bytes === undefined ? undefined : this.segments.spare(bytes);
	}

	/**
	 * Takes what the worker shared in a file that is read once.
	 *
	 * @throws Error when there is no such file, or it is not what was announced.
	 */
	once({ name, size }: AttachmentName): Uint8Array {
		if (!WORKERS_NAME.test(name))
			throw new Error(`no attachment has the name ${JSON.stringify(name)}`);
		this.checkSize(size);
		const { file, bytes } = openReceived(join(this.setting.directory, name));
		try {
			if (bytes !== size)
				throw new Error(
					`an attachment of ${bytes} bytes where ${size} were announced`,
				);
			return readBytes(file, 0, size);
		} finally {
			closeSync(file);
		}
	}

	/** Removes what nobody will receive any more. */
	discard({ name }: AttachmentName): void {
		if (/^[sw][0-9]{1,15}$/.test(name))
			rmSync(join(this.setting.directory, name), { force: true });
	}

	/** Lets go of what is kept: the conversation is over. */
	close(): void {
		this.segments.close();
	}
}
