import { InputError } from "@snakepit/core";
import type {
	AttachmentSink,
	ValueImage,
} from "../shared-memory/attachment.ts";
import type { SharedMemory } from "../shared-memory/shared-memory.ts";
import { StreamFile } from "../shared-memory/stream-file.ts";
import { decodeValue } from "../values/decode-value.ts";

/** How values cross on one conversation: in frames, and their large parts in shared memory where there is some. */
export class ValueCrossing {
	private readonly memory: SharedMemory | undefined;

	constructor(memory: SharedMemory | undefined) {
		this.memory = memory;
	}

	/** Makes the image of a value that `encode` writes. */
	image(encode: (attachment?: AttachmentSink) => Uint8Array): ValueImage {
		return this.memory?.encode(encode) ?? { value: encode() };
	}

	/** What the chunks of one stream may come in. */
	streamFile(): StreamFile | undefined {
		return this.memory?.streamFile();
	}

	/** Reads what arrived; @throws InputError `VALUE_NOT_TRANSFERABLE` when it is no value. */
	value({ value, attachment }: ValueImage, ofStream?: StreamFile): unknown {
		if (attachment === undefined) return decodeValue(value);
		try {
			if (this.memory === undefined)
				throw new Error("an attachment, and none was agreed");
			const bytes =
				ofStream !== undefined && StreamFile.holds(attachment)
					? ofStream.take(attachment)
					: this.memory.take(attachment);
			return decodeValue(value, bytes);
		} catch (cause) {
			if (cause instanceof InputError) throw cause;
			throw new InputError({
				code: "VALUE_NOT_TRANSFERABLE",
				ran: "maybe",
				message: `The value came with ${(cause as Error).message}.`,
				path: "$",
				cause,
			});
		}
	}

	/** Removes what came beside a value that nobody will read. */
	discard({ attachment }: ValueImage): void {
		if (attachment !== undefined) this.memory?.discard(attachment);
	}
}
