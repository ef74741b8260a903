import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { MessageFns } from "./gen/bridge.ts";

/** A writer keeps its memory: small messages reuse it; after a larger message, it is released. */
const KEPT_BYTES = 16 * 1024;

let keptWriter: BinaryWriter | undefined;

/** Encodes with one writer that all messages share: allocating its memory would be a large part of the cost of a small message. */
export function encodeMessage<Message>(
	kind: Pick<MessageFns<Message>, "encode">,
	message: Message,
): Uint8Array {
	const writer = keptWriter ?? new BinaryWriter();
	// The writer is not kept if it throws: the bytes written so far would precede the next message.
	keptWriter = undefined;
	const bytes = kind.encode(message, writer).finish();
	if (bytes.length <= KEPT_BYTES) keptWriter = writer;
	return bytes;
}
