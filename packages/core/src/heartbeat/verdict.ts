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
	/** Processor time that the worker used since then; `undefined` when it cannot be read. */
	readonly cpuAdvancedMs: number | undefined;
	/** Whether it was already given its one more grace for being busy. */
	readonly grace: "unused" | "used";
}

export interface HeartbeatRule {
	readonly intervalMs: number;
	readonly hungAfterMs: number;
	readonly missedPings: number;
}

export type HeartbeatVerdict =
	| { readonly kind: "healthy" }
	/** Silent, but not long enough. */
	| { readonly kind: "suspect" }
	/** The host cannot judge now: what it missed may be its own fault. */
	| {
			readonly kind: "suspended";
			readonly reason: "host_lagged" | "clock_jumped" | "debugger";
	  }
	/** Silent, yet it computes: one more grace. */
	| {
			readonly kind: "busy";
			readonly silentMs: number;
			readonly cpuAdvancedMs: number;
	  }
	| { readonly kind: "hung"; readonly silentMs: number };

/** A worker that used at least this share of the time it was silent is busy, not stuck. */
const BUSY_SHARE = 0.1;

/** Judges one worker. A hang is a verdict, never a fact: in doubt it is not one. */
export function judgeHeartbeat(
	evidence: HeartbeatEvidence,
	rule: HeartbeatRule,
): HeartbeatVerdict {
	const silentMs = evidence.nowMs - evidence.lastAnswerMs;
	if (evidence.missedInARow === 0) return { kind: "healthy" };
	if (evidence.debuggerAttached)
		return { kind: "suspended", reason: "debugger" };
	if (Math.abs(evidence.clockSkewMs) > rule.intervalMs)
		return { kind: "suspended", reason: "clock_jumped" };
	if (evidence.hostDelayMs > rule.intervalMs / 2)
		return { kind: "suspended", reason: "host_lagged" };
	if (silentMs < rule.hungAfterMs || evidence.missedInARow < rule.missedPings)
		return { kind: "suspect" };
	const cpu = evidence.cpuAdvancedMs ?? 0;
	if (evidence.grace === "unused" && cpu >= silentMs * BUSY_SHARE)
		return { kind: "busy", silentMs, cpuAdvancedMs: cpu };
	return { kind: "hung", silentMs };
}
