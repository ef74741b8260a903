import type { WorkerLogRecord } from "@snakepit/core/adapter";
import type { WorkerMessage } from "./frame-codec.ts";
import type { HostFunctions } from "./host-functions.ts";
import { logRecordOf } from "./log-record.ts";
import type { OngoingCall } from "./ongoing-call.ts";
import type { ValueCrossing } from "./value-crossing.ts";

/** Where the frames of a worker go. */
export interface FrameTargets {
	readonly calls: ReadonlyMap<number, OngoingCall>;
	readonly hostFunctions: HostFunctions;
	readonly log: (record: WorkerLogRecord) => void;
	readonly crossing: ValueCrossing;
}

/** Brings a frame to what it is about. One about a call that is over crossed with its end, and is dropped. */
export function dispatchFrame(
	message: WorkerMessage,
	{ calls, hostFunctions, log, crossing }: FrameTargets,
): void {
	if (message.$case === "hostCallCancel") {
		hostFunctions.drop(message.value.hostCallId);
		return;
	}
	const call = calls.get(message.value.callId);
	if (message.$case === "log") {
		log(logRecordOf(message.value, call?.options.callId));
		return;
	}
	if (call === undefined) {
		if (
			message.$case === "result" ||
			message.$case === "chunk" ||
			message.$case === "end"
		)
			crossing.discard(message.value);
		return;
	}
	switch (message.$case) {
		case "result":
			call.result(message.value);
			break;
		case "chunk":
			call.chunk(message.value);
			break;
		case "end":
			call.end(message.value);
			break;
		case "failure":
			call.failure(message.value);
			break;
		case "inputCredit":
			call.inputCredit(message.value.chunks);
			break;
		case "hostCall":
			hostFunctions.begin(call, message.value);
			break;
	}
}
