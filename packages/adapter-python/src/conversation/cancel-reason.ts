import { CallTimeoutError, QueueError } from "@snakepit/core";
import { CancelReason } from "../gen/bridge.ts";

/** The reason of an AbortSignal, as the worker gets it. */
export function cancelReasonOf(reason: unknown): CancelReason {
	if (reason instanceof CallTimeoutError || isTimeout(reason)) {
		return CancelReason.CANCEL_REASON_DEADLINE;
	}
	if (reason instanceof QueueError && reason.code === "POOL_CLOSED") {
		return CancelReason.CANCEL_REASON_SHUTDOWN;
	}
	return CancelReason.CANCEL_REASON_CALLER;
}

/** As `AbortSignal.timeout` has it. */
function isTimeout(reason: unknown): boolean {
	return reason instanceof DOMException && reason.name === "TimeoutError";
}
