/** What is known about the calls of one tool: how long the last ones ran, in milliseconds. */
export type RecentMs = number | undefined;

/** How many calls may wait behind the one that a worker runs. */
export const LEAST_WINDOW = 4;
const MOST_WINDOW = 16;
/** A tool that takes longer gains less from a call at hand than a call loses that waits behind it. */
const QUICK_MS = 1;
/** Calls do not wait behind one that runs for longer. */
export const SLOW_HEAD_MS = 2;
/** Less work than this is done sooner where it waits than moved to a worker with nothing to do. */
const WORTH_MOVING_MS = 0.5;
/** The share of the newest call in the mean: after one call of 50 ms, about 30 quick ones make the tool quick again. */
const NEWEST_SHARE = 1 / 8;

/** The mean of a tool's durations, in which each call counts less than the next one. */
export function recentMsAfter(before: RecentMs, ranMs: number): number {
	return before === undefined
		? ranMs
		: before + (ranMs - before) * NEWEST_SHARE;
}

/** A tool without a measured call is not quick. */
export function isQuick(recentMs: RecentMs): boolean {
	return recentMs !== undefined && recentMs < QUICK_MS;
}

/**
 * How many items of a map may be in a pool at once.
 *
 * @param workers how many there may be.
 * @param capacity how many calls they may run at once.
 */
export function mapConcurrency(
	workers: number,
	capacity: number,
	recentMs: RecentMs,
): number {
	return isQuick(recentMs) ? capacity + workers * MOST_WINDOW : capacity;
}

/** A call, as far as it matters to whether it may be sent behind another one. */
export interface AheadCandidate {
	readonly work: { readonly shape: "unary" | "stream" | "lease" };
	readonly session: { readonly incarnation: string | undefined } | undefined;
	readonly input: object | undefined;
	readonly instrument: { readonly sentAhead?: unknown } | undefined;
	readonly attempts: number;
	readonly timesTakenBack: number;
}

/**
 * Whether a call may be sent behind another one of this process: not where something is bound to the one attempt (items
 * that are read once, an instrument that has no headers without one), not when it is made again, and not twice: it has
 * waited behind a slow call already. One of a session only where the session is: it could be bound elsewhere meanwhile.
 */
export function mayGoAhead(call: AheadCandidate, incarnation: string): boolean {
	const { session, instrument } = call;
	return (
		call.work.shape === "unary" &&
		(session === undefined || session.incarnation === incarnation) &&
		call.input === undefined &&
		(instrument === undefined || instrument.sentAhead !== undefined) &&
		call.attempts === 0 &&
		call.timesTakenBack === 0
	);
}

/** A worker, as far as it matters to how many calls may wait behind the one it runs. */
export interface AheadWorker {
	readonly takes: boolean;
	readonly running: number;
	readonly ahead: number;
	/** Of the tool that it runs. */
	readonly recentMs: RecentMs;
	readonly window: number;
	/** How many more calls it may take before it is replaced. */
	readonly callsLeft: number;
}

/** How many more calls may be sent to a worker. */
export function roomAhead(worker: AheadWorker): number {
	const { takes, running, ahead, recentMs, window, callsLeft } = worker;
	if (!takes || running !== 1 || !isQuick(recentMs)) return 0;
	return Math.max(0, Math.min(window, callsLeft) - ahead);
}

/** The window after a call ended: 0, to which taking back sets it, opens again with the next call. */
export function windowAfterCall(window: number): number {
	return Math.min(MOST_WINDOW, Math.max(LEAST_WINDOW, window + 1));
}

/** Whether calls that wait behind another one are worth moving to a worker that has nothing to do. */
export function isWorthMoving(ahead: number, recentMs: RecentMs): boolean {
	return ahead >= 2 && ahead * (recentMs ?? 0) >= WORTH_MOVING_MS;
}
