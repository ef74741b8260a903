import { CallTimeoutError, QueueError } from "@snakepit/core";
import { CancelReason } from "../gen/bridge.ts";

/** The reason of an AbortSignal, in the form that is sent to the worker. */
export function cancelReasonOf(reason: unknown): CancelReason {
	if (reason instanceof CallTimeoutError || isTimeout(reason)) {
		return CancelReason.CANCEL_REASON_DEADLINE;
	}
	if (reason instanceof QueueError && reason.code === "POOL_CLOSED") {
		return CancelReason.CANCEL_REASON_SHUTDOWN;
	}
	return CancelReason.CANCEL_REASON_CALLER;
}

/** The name of the error of `AbortSignal.timeout`. */
function isTimeout(reason: unknown): boolean {
	return reason instanceof DOMException && reason.name === "TimeoutError";
}
