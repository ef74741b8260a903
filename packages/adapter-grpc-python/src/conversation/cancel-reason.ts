import { CallTimeoutError, QueueError } from "@snakepit/core";
import { CancelReason } from "../gen/bridge.ts";

/** What the worker is told about the reason of an AbortSignal. */
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
