import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { MessageFns } from "./gen/bridge.ts";

/** A writer keeps the memory it has taken: for small messages it is taken once, after a larger one it is given back. */
const KEPT_BYTES = 16 * 1024;

let keptWriter: BinaryWriter | undefined;

/** Encodes with one writer that all messages share: allocating its memory is a good part of the cost of a small message. */
export function encodeMessage<Message>(
	kind: Pick<MessageFns<Message>, "encode">,
	message: Message,
): Uint8Array {
	const writer = keptWriter ?? new BinaryWriter();
	// Not kept when it throws: what was written so far would precede the next message.
	keptWriter = undefined;
	const bytes = kind.encode(message, writer).finish();
	if (bytes.length <= KEPT_BYTES) keptWriter = writer;
	return bytes;
}
