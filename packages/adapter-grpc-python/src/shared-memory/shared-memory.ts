import { closeSync, openSync, rmSync, statfsSync, writevSync } from "node:fs";
import { join } from "node:path";
import {
	Attachment,
	type AttachmentName,
	type AttachmentSink,
	type ValueImage,
} from "./attachment.ts";
import { openReceived, readBytes } from "./received-file.ts";
import { StreamFile } from "./stream-file.ts";

/** How values are shared with one worker. */
export interface SharedMemorySetting {
	/** Of this worker alone, and removed when it is gone. */
	readonly directory: string;
	/** Parts of a value from this size on are shared. */
	readonly fromBytes: number;
	/** What one value may take. */
	readonly limitBytes: number;
}

/** Others need shared memory too: of what is free, one value takes no more than this. */
const SHARE_OF_FREE = 0.5;
/** What the worker calls its files. */
const WORKERS_NAME = /^w[0-9]{1,15}$/;

/**
 * Large parts of values, handed over as files in shared memory.
 *
 * Who receives a file removes it as soon as it is open; who made it removes what
 * was never received; what both leave behind goes with the worker's directory.
 */
export class SharedMemory {
	readonly #setting: SharedMemorySetting;
	#lastFile = 0;

	constructor(setting: SharedMemorySetting) {
		this.#setting = setting;
	}

	/**
	 * Encodes a value with its large parts beside it; all of it in the image where
	 * there is no room for them.
	 */
	encode(encode: (sink?: AttachmentSink) => Uint8Array): ValueImage {
		const attachment = new Attachment(this.#setting.fromBytes);
		const value = encode(attachment);
		if (attachment.size === 0) return { value };
		const name = this.#write(attachment);
		if (name === undefined) return { value: encode() };
		return { value, attachment: { name, size: attachment.size, offset: 0 } };
	}

	/**
	 * Takes what the worker shared.
	 *
	 * @throws Error when there is no such file, or it is not what was announced.
	 */
	take({ name, size }: AttachmentName): Uint8Array {
		if (!WORKERS_NAME.test(name))
			throw new Error(`no attachment has the name ${JSON.stringify(name)}`);
		if (size > this.#setting.limitBytes)
			throw new Error(
				`an attachment of ${size} bytes, and the limit is ${this.#setting.limitBytes} (sharedMemory.limitBytes)`,
			);
		const { file, bytes } = openReceived(join(this.#setting.directory, name));
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

	/** What the worker shares of one stream in a file that is kept until its end. */
	streamFile(): StreamFile {
		return new StreamFile(this.#setting.directory);
	}

	/** Removes what nobody will receive any more. */
	discard({ name }: AttachmentName): void {
		if (/^[hsw][0-9]{1,15}$/.test(name))
			rmSync(join(this.#setting.directory, name), { force: true });
	}

	/** Returns the name of the file; `undefined` when there is no room for it. */
	#write(attachment: Attachment): string | undefined {
		const { directory, limitBytes } = this.#setting;
		if (attachment.size > limitBytes) return undefined;
		const name = `h${++this.#lastFile}`;
		const path = join(directory, name);
		try {
			const { bavail, bsize } = statfsSync(directory);
			if (attachment.size > bavail * bsize * SHARE_OF_FREE) return undefined;
			writeFile(path, attachment.parts);
			return name;
		} catch {
			// Full, or gone: the plain way is there still.
			rmSync(path, { force: true });
			return undefined;
		}
	}
}

function writeFile(path: string, parts: readonly Uint8Array[]): void {
	const file = openSync(path, "wx", 0o600);
	try {
		let left = [...parts];
		while (left.length > 0) left = rest(left, writevSync(file, left));
	} finally {
		closeSync(file);
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
