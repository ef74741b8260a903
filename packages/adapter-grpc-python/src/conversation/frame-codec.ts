import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { HostFrame, WorkerFrame } from "../gen/bridge.ts";

/** A writer keeps the memory it has taken: for small frames it is taken once, after a larger one it is given back. */
const KEPT_BYTES = 16 * 1024;

/** Cases of a frame that a channel keeps for itself. */
type OfChannel = { readonly $case: "ping" | "batch" };

/** What the host says: one of the cases of `HostFrame`. */
export type HostMessage = Exclude<NonNullable<HostFrame["frame"]>, OfChannel>;
/** What the worker says: one of the cases of `WorkerFrame`. */
export type WorkerMessage = Exclude<
	NonNullable<WorkerFrame["frame"]>,
	OfChannel
>;

let keptWriter: BinaryWriter | undefined;

export function encodeFrame(message: HostMessage): Uint8Array {
	const writer = keptWriter ?? new BinaryWriter();
	// Not kept when it throws: what was written so far would precede the next frame.
	keptWriter = undefined;
	const frame = HostFrame.encode({ frame: message }, writer).finish();
	if (frame.length <= KEPT_BYTES) keptWriter = writer;
	return frame;
}

/** @throws Error when the bytes are no frame, or one of a kind that this protocol version does not have. */
export function decodeFrame(bytes: Uint8Array): WorkerMessage {
	const { frame } = WorkerFrame.decode(bytes);
	if (frame === undefined || frame.$case === "ping" || frame.$case === "batch")
		throw new Error("a frame of a kind that is not known here");
	return frame;
}
