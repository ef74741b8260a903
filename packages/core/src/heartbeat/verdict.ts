import type { Activity } from "./activity.ts";

/** What is known of one worker's answers when it is judged. Times in milliseconds of the monotonic clock. */
export interface HeartbeatEvidence {
	readonly nowMs: number;
	/** When it last answered or became ready, or what it missed was forgiven. */
	readonly lastAnswerMs: number;
	readonly missedInARow: number;
	/** Longest delay of the host's own event loop since the previous judgement. */
	readonly hostDelayMs: number;
	/** How far the wall clock moved against the monotonic one since the previous judgement: a suspend or a jump. */
	readonly clockSkewMs: number;
	readonly debuggerAttached: boolean;
	/** Whether it has worked since the previous look at its processor time. */
	readonly activity: Activity;
	/** When it was last seen to work while it was silent; `undefined` when it was not. */
	readonly activeAtMs: number | undefined;
}

export interface HeartbeatRule {
	readonly intervalMs: number;
	readonly hungAfterMs: number;
	readonly missedPings: number;
	readonly busyLimitMs: number;
}

/** Why a silent worker is judged to hang. */
export type HangCause =
	/** It did nothing. */
	| "idle"
	/** It did something, and longer than `heartbeat.busyLimitMs`. */
	| "busy_limit";

export type HeartbeatVerdict =
	| { readonly kind: "healthy" }
	/** Silent, but not long enough, or it worked a moment ago. */
	| { readonly kind: "suspect" }
	/** The host cannot judge now: what it missed may be its own fault. */
	| {
			readonly kind: "suspended";
			readonly reason: "host_lagged" | "clock_jumped" | "debugger";
	  }
	/** Silent, yet it works. */
	| { readonly kind: "busy" }
	| { readonly kind: "hung"; readonly cause: HangCause };

/** Judges one worker. A hang is a verdict, never a fact: in doubt it is not one. */
export function judgeHeartbeat(
	evidence: HeartbeatEvidence,
	rule: HeartbeatRule,
): HeartbeatVerdict {
	const { nowMs, lastAnswerMs, activity } = evidence;
	const silentMs = nowMs - lastAnswerMs;
	if (evidence.missedInARow === 0) return { kind: "healthy" };
	if (evidence.debuggerAttached)
		return { kind: "suspended", reason: "debugger" };
	if (Math.abs(evidence.clockSkewMs) > rule.intervalMs)
		return { kind: "suspended", reason: "clock_jumped" };
	if (evidence.hostDelayMs > rule.intervalMs / 2)
		return { kind: "suspended", reason: "host_lagged" };
	if (silentMs < rule.hungAfterMs || evidence.missedInARow < rule.missedPings)
		return { kind: "suspect" };
	const idleMs = nowMs - Math.max(lastAnswerMs, evidence.activeAtMs ?? 0);
	if (activity === "idle" && idleMs >= rule.hungAfterMs)
		return { kind: "hung", cause: "idle" };
	if (silentMs >= rule.busyLimitMs)
		return { kind: "hung", cause: "busy_limit" };
	return { kind: activity === "active" ? "busy" : "suspect" };
}
