import type { AttemptDetails } from "../../call-events.ts";
import type { ErrorCode } from "../../error-codes.ts";
import type { Call, CallState } from "../calls/call.ts";
import type { CallAttempt } from "../calls/call-attempt.ts";

/** A call may be tried any number of times. */
const KEPT = 20;

/** An attempt after which another one is wanted. */
export interface FailedAttempt extends AttemptDetails {
	readonly code: ErrorCode;
	readonly pauseMs: number;
}

/** Keeps the details of an attempt that failed, of a call that runs and is tried again. */
export function keepRetried(
	call: Call,
	code: ErrorCode,
	pauseMs: number,
	nowMs: number,
): void {
	if (call.state.kind !== "running") return;
	call.retried ??= [];
	if (call.retried.length === KEPT) call.retried.shift();
	const details = detailsOf(call.state.attempt, code, pauseMs, nowMs);
	call.retried.push({ ...details, code, pauseMs });
}

/**
 * The attempts of a call that has ended, in their order.
 *
 * @param was its state when it ended.
 * @param code of its error.
 */
export function attemptsOf(
	call: Call,
	was: CallState,
	code: ErrorCode | undefined,
	nowMs: number,
): readonly AttemptDetails[] {
	const { retried = [] } = call;
	return was.kind === "running"
		? [...retried, detailsOf(was.attempt, code, undefined, nowMs)].slice(-KEPT)
		: retried;
}

function detailsOf(
	{ worker, waitedMs, ranMs, startedMs }: CallAttempt,
	code: ErrorCode | undefined,
	pauseMs: number | undefined,
	nowMs: number,
): AttemptDetails {
	const { workerId, incarnation } = worker.ref;
	return {
		...{ workerId, incarnation, waitedMs, code, pauseMs },
		ranMs: ranMs ?? nowMs - startedMs,
	};
}
