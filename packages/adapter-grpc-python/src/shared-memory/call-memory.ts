import {
	Attachment,
	type AttachmentName,
	type AttachmentSink,
	type ValueImage,
} from "./attachment.ts";
import { Segment } from "./segment.ts";
import type { SharedMemory } from "./shared-memory.ts";
import { StreamFile } from "./stream-file.ts";

/** What the worker calls its files. */
const WORKERS_NAME = /^w[0-9]{1,15}$/;

/** What one call has of the shared memory, from its first frame to its terminal one. */
export class CallMemory {
	readonly #memory: SharedMemory;
	readonly #command: string;
	#arguments: Segment | undefined;
	#result: Segment | undefined;
	#streamFile: StreamFile | undefined;

	/** @param command what is called: how large its results are is remembered. */
	constructor(memory: SharedMemory, command: string) {
		this.#memory = memory;
		this.#command = command;
	}

	/** What the worker may write its result to. */
	get resultSegment(): string {
		return this.#result?.name ?? "";
	}

	/** What the worker is to let go of, too. */
	get segmentsGone(): readonly string[] {
		return this.#memory.segments.gone;
	}

	/**
	 * Encodes the arguments with their large parts beside them; all of it in the image
	 * where there is no room for them.
	 */
	arguments(encode: (sink?: AttachmentSink) => Uint8Array): ValueImage {
		const attachment = new Attachment(this.#memory.setting.fromBytes);
		const value = encode(attachment);
		if (attachment.size === 0) return { value };
		this.#arguments = this.#memory.write(attachment);
		if (this.#arguments === undefined) return { value: encode() };
		const { name } = this.#arguments;
		return { value, attachment: { name, size: attachment.size, offset: 0 } };
	}

	/** Has room ready for a result like the one before. */
	expectResult(): void {
		this.#result = this.#memory.spareForResult(this.#command);
	}

	/** The call was sent. */
	sent(): void {
		this.#memory.segments.toldGone();
	}

	/**
	 * Takes the large parts of the result.
	 *
	 * @throws Error when they are not where this call's may be, or not as announced.
	 */
	result({ name, size }: AttachmentName, argumentsFree: boolean): Uint8Array {
		this.#memory.checkSize(size);
		if (name === this.#arguments?.name && !argumentsFree)
			throw new Error(`an attachment in ${name}, whose arguments are in use`);
		const segment =
			[this.#arguments, this.#result].find((own) => own?.name === name) ??
			this.#received(name);
		this.#memory.remember(this.#command, size);
		return segment.read(size);
	}

	/**
	 * Takes the large parts of a chunk.
	 *
	 * @throws Error when there is no such file, or it is not as announced.
	 */
	chunk(attachment: AttachmentName): Uint8Array {
		if (!StreamFile.holds(attachment)) return this.#memory.once(attachment);
		this.#streamFile ??= new StreamFile(this.#memory.setting.directory);
		return this.#streamFile.take(attachment);
	}

	/** The call is over. @param argumentsFree nothing in the worker refers to its arguments. */
	close(argumentsFree: boolean): void {
		this.#streamFile?.close();
		if (this.#result !== undefined)
			this.#memory.segments.giveBack(this.#result);
		if (this.#arguments === undefined) return;
		if (argumentsFree) this.#memory.segments.giveBack(this.#arguments);
		else this.#arguments.close();
	}

	#received(name: string): Segment {
		if (!WORKERS_NAME.test(name))
			throw new Error(`no attachment has the name ${JSON.stringify(name)}`);
		const segment = Segment.received(this.#memory.setting.directory, name);
		// There can be no other result: the one that was expected is not needed.
		if (this.#result !== undefined)
			this.#memory.segments.giveBack(this.#result);
		this.#result = segment;
		return segment;
	}
}
