import { InputError } from "@snakepit/core";
import type {
	AttachmentName,
	ValueImage,
} from "../shared-memory/attachment.ts";
import type { CallMemory } from "../shared-memory/call-memory.ts";
import type { SharedMemory } from "../shared-memory/shared-memory.ts";
import { decodeValue } from "../values/decode-value.ts";

/** How values cross on one conversation: in frames, and their large parts in shared memory where there is some. */
export class ValueCrossing {
	private readonly memory: SharedMemory | undefined;

	constructor(memory: SharedMemory | undefined) {
		this.memory = memory;
	}

	/** What a call has of the shared memory. */
	call(command: string): CallMemory | undefined {
		return this.memory?.call(command);
	}

	/**
	 * Reads what arrived.
	 *
	 * @param take reads what is beside it; absent where nothing was agreed to be.
	 * @throws InputError `VALUE_NOT_TRANSFERABLE` when it is no value.
	 */
	value(
		{ value, attachment }: ValueImage,
		take: ((attachment: AttachmentName) => Uint8Array) | undefined,
	): unknown {
		if (attachment === undefined) return decodeValue(value);
		try {
			if (take === undefined)
				throw new Error("an attachment, and none was agreed");
			return decodeValue(value, take(attachment));
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

	/** The conversation is over. */
	close(): void {
		this.memory?.close();
	}
}
