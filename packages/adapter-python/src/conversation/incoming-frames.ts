import type { WorkerLogRecord } from "@snakepit/core/adapter";
import { LENT_BYTES } from "../channel/frame-channel.ts";
import type { ValueImage } from "../shared-memory/attachment.ts";
import type { ConversationSetting } from "./conversation-setting.ts";
import { decodeFrame, type WorkerMessage } from "./frame-codec.ts";
import type { HostFunctions } from "./host-functions.ts";
import { logRecordOf } from "./log-record.ts";
import type { OngoingCall } from "./ongoing-call.ts";
import type { OpenCalls } from "./open-calls.ts";

interface FramesSetting {
	/** The calls that are not over, by number. */
	readonly calls: Pick<OpenCalls<OngoingCall>, "get">;
	readonly hostFunctions: HostFunctions;
	readonly log: (record: WorkerLogRecord) => void;
	/** Source files that the worker has loaded. */
	readonly sources?: ConversationSetting["sources"];
	/** Removes data beside a value that will not be read. */
	readonly discard: (value: ValueImage) => void;
	/** The frame cannot be read. */
	readonly malformed: (problem: string, cause: unknown) => void;
}

/** Decodes the frames of a worker, and passes each on to the call or the host function that it is about. */
export class IncomingFrames {
	readonly #setting: FramesSetting;

	constructor(setting: FramesSetting) {
		this.#setting = setting;
	}

	/** A frame that is not compact, from `begin` to `end`; its bytes are lent. */
	take(bytes: Uint8Array, begin: number, end: number): void {
		const { hostFunctions, sources, malformed } = this.#setting;
		const size = end - begin;
		const frame = bytes.subarray(begin, end);
		let message: WorkerMessage;
		try {
			message = decodeFrame(size > LENT_BYTES ? frame : Buffer.from(frame));
		} catch (error) {
			malformed(`a malformed frame of ${size} bytes arrived`, error);
			return;
		}
		if (message.$case === "hostCallCancel")
			hostFunctions.drop(message.value.hostCallId);
		else if (message.$case === "sources")
			sources?.(message.value.files, message.value.sinceUs / 1_000);
		else this.#ofCall(message);
	}

	/** A frame about a call. If the call is over, the frame crossed with its end, and is dropped. */
	#ofCall(
		message: Exclude<
			WorkerMessage,
			{ readonly $case: "hostCallCancel" | "sources" }
		>,
	): void {
		const { calls, hostFunctions, log, discard } = this.#setting;
		const call = calls.get(message.value.callId);
		switch (message.$case) {
			case "result":
				if (call === undefined) discard(message.value);
				else call.result(message.value);
				break;
			case "chunk":
				if (call === undefined) discard(message.value);
				else call.chunk(message.value);
				break;
			case "end":
				if (call === undefined) discard(message.value);
				else call.end(message.value);
				break;
			case "failure":
				call?.failure(message.value);
				break;
			case "inputCredit":
				call?.inputCredit(message.value.chunks);
				break;
			case "progress":
				call?.progress(message.value);
				break;
			case "hostCall":
				if (call !== undefined) hostFunctions.begin(call, message.value);
				break;
			case "log":
				log(logRecordOf(message.value, call?.options.callId));
		}
	}
}
