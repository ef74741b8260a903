import { closeSync } from "node:fs";
import { join } from "node:path";
import type { AttachmentName } from "./attachment.ts";
import { openReceived, readBytes } from "./received-file.ts";

/** What the worker calls the file of a stream. */
const STREAMS_NAME = /^s[0-9]{1,15}$/;
/** The room of one chunk; the worker gives a larger one a file of its own. */
const CHUNK_ROOM = 1024 * 1024;

type StreamFileState =
	| { readonly kind: "fresh" }
	| { readonly kind: "open"; readonly name: string; readonly file: number }
	| { readonly kind: "closed" };

/**
 * The host's side of the file in which the chunks of one stream take turns. It is
 * removed when it is opened, and gone when both have closed it. A chunk is copied
 * out of it when it arrives: the worker writes there again only after credit was
 * granted for that.
 */
export class StreamFile {
	readonly #directory: string;
	#state: StreamFileState = { kind: "fresh" };

	constructor(directory: string) {
		this.#directory = directory;
	}

	/** Whether an attachment is in such a file. */
	static holds({ name }: AttachmentName): boolean {
		return STREAMS_NAME.test(name);
	}

	/**
	 * Takes what the worker shared.
	 *
	 * @throws Error when there is no such file, or it is not what was announced.
	 */
	take({ name, size, offset }: AttachmentName): Uint8Array {
		if (size > CHUNK_ROOM)
			throw new Error(
				`an attachment of ${size} bytes, and a chunk has room for ${CHUNK_ROOM}`,
			);
		return readBytes(this.#open(name), offset, size);
	}

	/** Lets go of it: the stream is over. */
	close(): void {
		if (this.#state.kind === "open") closeSync(this.#state.file);
		this.#state = { kind: "closed" };
	}

	#open(name: string): number {
		const state = this.#state;
		if (state.kind === "closed") throw new Error("an attachment after the end");
		if (state.kind === "open") {
			if (state.name !== name)
				throw new Error(
					`an attachment in ${name}, and that of its stream is ${state.name}`,
				);
			return state.file;
		}
		const { file } = openReceived(join(this.#directory, name));
		this.#state = { kind: "open", name, file };
		return file;
	}
}
