import { encodeMessage } from "../encode-message.ts";
import { HostFrame, WorkerFrame } from "../gen/bridge.ts";

/** Cases of a frame that a channel handles itself. */
type OfChannel = { readonly $case: "ping" | "batch" };

/** A frame that the host sends: one of the cases of `HostFrame`. */
export type HostMessage = Exclude<NonNullable<HostFrame["frame"]>, OfChannel>;
/** A frame that the worker sends: one of the cases of `WorkerFrame`. */
export type WorkerMessage = Exclude<
	NonNullable<WorkerFrame["frame"]>,
	OfChannel
>;

export function encodeFrame(message: HostMessage): Uint8Array {
	return encodeMessage(HostFrame, { frame: message });
}

/** @throws Error when the bytes are no frame, or one of a kind that this protocol version does not have. */
export function decodeFrame(bytes: Uint8Array): WorkerMessage {
	const { frame } = WorkerFrame.decode(bytes);
	if (frame === undefined || frame.$case === "ping" || frame.$case === "batch")
		throw new Error("a frame of a kind that is not known here");
	return frame;
}
