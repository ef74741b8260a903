import type { Worker } from "../../worker/worker.ts";
import type { Call } from "../calls/call.ts";
import type { CallAttempt } from "../calls/call-attempt.ts";
import { CapacityIndex } from "./capacity-index.ts";

interface Window {
	readonly worker: Worker;
	/** In the order in which they were sent. */
	readonly attempts: CallAttempt[];
	size: number;
	/** `"unknown"`: something has changed. A single call changes it twice without a question in between. */
	room: "known" | "unknown";
}

/** The calls that workers have prefetched, behind those that they run, and which workers may get more of them. */
export class PrefetchWindows {
	/** How many calls there are in all windows. */
	size = 0;
	readonly #afterCalls: number;
	readonly #accepts: (worker: Worker) => boolean;
	readonly #windows = new Map<Worker, Window>();
	readonly #withRoom = new CapacityIndex<Worker>();
	/** Those of which it is unknown whether they have room. */
	readonly #changed: Window[] = [];
	readonly #recentMs = new Map<string, number>();
	/** No call in a window has a lower priority. */
	#lowestPriority = Number.POSITIVE_INFINITY;

	/**
	 * @param afterCalls `recycle.afterCalls`
	 * @param accepts whether this worker takes calls of which nothing is known but their priority.
	 */
	constructor(afterCalls: number, accepts: (worker: Worker) => boolean) {
		this.#afterCalls = afterCalls;
		this.#accepts = accepts;
	}

	/**
	 * The worker behind whose call this one may be sent: of those with room, the one with the fewest calls.
	 *
	 * @param home where the session of the call is: the only one for it.
	 */
	workerFor(call: Call, home: Worker | undefined): Worker | undefined {
		this.#judgeChanged();
		const worker =
			call.session === undefined ? this.#withRoom.leastLoaded() : home;
		return worker !== undefined &&
			this.#withRoom.has(worker) &&
			this.admits(worker, call)
			? worker
			: undefined;
	}

	/** Whether this call may be sent to a worker that has room. */
	admits(worker: Worker, call: Call): boolean {
		return (
			mayPrefetch(call, worker.ref.incarnation) &&
			isQuick(this.#recentMs.get(call.command)) &&
			isAdmitted(worker, call) &&
			// A getter in the arguments may have changed anything.
			call.state.kind === "waiting" &&
			this.hasRoom(worker)
		);
	}

	/** How long the last calls of a command ran on workers that prefetches calls. */
	recentMs(command: string): RecentMs {
		return this.#recentMs.get(command);
	}

	hasRoom(worker: Worker): boolean {
		this.#judgeChanged();
		return this.#withRoom.has(worker);
	}

	/** A worker runs one more call than before, or one less: it may have room now, or none any more. */
	changed(worker: Worker): void {
		if (worker.connection?.prefetch === undefined) return;
		let window = this.#windows.get(worker);
		if (window === undefined) {
			window = { worker, attempts: [], size: LEAST_WINDOW, room: "known" };
			this.#windows.set(worker, window);
		}
		if (window.room === "known") this.#changes(window);
	}

	/**
	 * A call has ended.
	 *
	 * @param ranMs `undefined` if it did not run: of commands that do not exist nothing is kept.
	 */
	ended(worker: Worker, command: string, ranMs: number | undefined): void {
		const window = this.#windows.get(worker);
		if (window === undefined) return;
		window.size = windowAfterCall(window.size);
		if (ranMs === undefined) return;
		this.#recentMs.set(
			command,
			recentMsAfter(this.#recentMs.get(command), ranMs),
		);
	}

	add(attempt: CallAttempt): void {
		const { worker, call } = attempt;
		const window = this.#windows.get(worker);
		window?.attempts.push(attempt);
		this.size++;
		this.#lowestPriority = Math.min(this.#lowestPriority, call.priority);
		this.#changes(window);
	}

	/** The call that the worker runs next. */
	first(worker: Worker): CallAttempt | undefined {
		return this.#windows.get(worker)?.attempts[0];
	}

	/** Takes out a call that has begun, or never will. */
	remove(attempt: CallAttempt): void {
		const window = this.#windows.get(attempt.worker);
		const attempts = window?.attempts ?? [];
		const at = attempts.indexOf(attempt);
		if (at < 0) return;
		attempts.splice(at, 1);
		this.size--;
		this.#changes(window);
	}

	/** Takes out all of a worker's, which gets no more until a call of it has ended. */
	clear(worker: Worker): readonly CallAttempt[] {
		const window = this.#windows.get(worker);
		if (window === undefined) return [];
		window.size = 0;
		const taken = window.attempts.splice(0);
		this.size -= taken.length;
		if (this.size === 0) this.#lowestPriority = Number.POSITIVE_INFINITY;
		this.#changes(window);
		return taken;
	}

	/** A worker with a call in its window that is less urgent than this priority; this one alone, where one is given. */
	lessUrgentThan(priority: number, only?: Worker): Worker | undefined {
		if (priority <= this.#lowestPriority) return undefined;
		for (const [worker, { attempts }] of this.#windows) {
			const last = attempts.at(-1);
			if (last === undefined || last.call.priority >= priority) continue;
			if (only === undefined || only === worker) return worker;
		}
		return undefined;
	}

	/** The worker with the most calls in its window, if they are worth moving to one that has nothing to do. */
	worthMoving(): Worker | undefined {
		if (this.size === 0) return undefined;
		const [worker, window] = [...this.#windows].reduce((most, each) =>
			each[1].attempts.length > most[1].attempts.length ? each : most,
		);
		return isWorthMoving(window.attempts.length, this.#recentOf(window))
			? worker
			: undefined;
	}

	/** The workers that have run one call for so long that those behind it had better run elsewhere. */
	slow(nowMs: number): readonly Worker[] {
		const since = nowMs - SLOW_HEAD_MS;
		return [...this.#windows.values()].flatMap(({ worker, attempts }) => {
			const [head] = worker.calls.attempts;
			return attempts.length > 0 &&
				head !== undefined &&
				head.startedMs <= since
				? [worker]
				: [];
		});
	}

	/** The worker is gone, or runs nothing else than the calls of sessions. */
	forget(worker: Worker): void {
		this.#withRoom.forget(worker);
		this.#windows.delete(worker);
	}

	#changes(window: Window | undefined): void {
		if (window?.room !== "known") return;
		window.room = "unknown";
		this.#changed.push(window);
	}

	#judgeChanged(): void {
		for (const window of this.#changed) {
			window.room = "known";
			this.#judge(window);
		}
		this.#changed.length = 0;
	}

	#judge(window: Window): void {
		const { worker } = window;
		// It may have been forgotten, and begin again with another window.
		if (this.#windows.get(worker) !== window) return;
		const prefetched = window.attempts.length;
		const room = prefetchRoom({
			accepts: this.#accepts(worker),
			running: worker.calls.attempts.length,
			prefetched,
			recentMs: this.#recentOf(window),
			window: window.size,
			callsLeft: this.#afterCalls - worker.calls.taken,
		});
		this.#withRoom.put(worker, room > 0 ? prefetched : undefined);
	}

	#recentOf({ worker }: Window): number | undefined {
		const [head] = worker.calls.attempts;
		return head && this.#recentMs.get(head.command);
	}
}

/** Arguments whose own code throws, as a getter may, are refused when they are sent, in their turn. */
function isAdmitted({ connection }: Worker, { command, args }: Call): boolean {
	try {
		return connection?.prefetch?.admits(command, args) === true;
	} catch {
		return false;
	}
}

/** What is known about the calls of one tool: how long the last ones ran, in milliseconds. */
type RecentMs = number | undefined;

/** How many calls may wait behind the one that a worker runs. */
const LEAST_WINDOW = 4;
const MOST_WINDOW = 16;
/** Above this, prefetching costs a queued call more than it saves. */
const QUICK_MS = 1;
/** Calls do not wait behind one that runs for longer. */
export const SLOW_HEAD_MS = 2;
/** Below this, moving calls to an idle worker takes longer than leaving them where they are. */
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
 * @param capacity how many calls they may run concurrently.
 */
export function mapConcurrency(
	workers: number,
	capacity: number,
	recentMs: RecentMs,
): number {
	return isQuick(recentMs) ? capacity + workers * MOST_WINDOW : capacity;
}

/** A call, as far as it matters to whether it may be sent behind another one. */
export interface PrefetchCandidate {
	readonly work: { readonly shape: "unary" | "stream" | "lease" };
	readonly session: { readonly incarnation: string | undefined } | undefined;
	readonly input: object | undefined;
	readonly instrument: { readonly prefetched?: unknown } | undefined;
	readonly attempts: number;
	readonly timesRecalled: number;
}

/**
 * Whether a call may be sent behind another one of this process: not where something is bound to the one attempt (items
 * that are read once, an instrument that has no headers without one), not when it is made again, and not twice: it has
 * waited behind a slow call already. One of a session only where the session is: it could be bound elsewhere meanwhile.
 */
export function mayPrefetch(
	call: PrefetchCandidate,
	incarnation: string,
): boolean {
	const { session, instrument } = call;
	return (
		call.work.shape === "unary" &&
		(session === undefined || session.incarnation === incarnation) &&
		call.input === undefined &&
		(instrument === undefined || instrument.prefetched !== undefined) &&
		call.attempts === 0 &&
		call.timesRecalled === 0
	);
}

/** A worker, as far as it matters to how many calls may wait behind the one it runs. */
export interface PrefetchWorker {
	readonly accepts: boolean;
	readonly running: number;
	readonly prefetched: number;
	/** Of the tool that it runs. */
	readonly recentMs: RecentMs;
	readonly window: number;
	/** How many more calls it may take before it is replaced. */
	readonly callsLeft: number;
}

/** How many more calls may be sent to a worker. */
export function prefetchRoom(worker: PrefetchWorker): number {
	const { accepts, running, prefetched, recentMs, window, callsLeft } = worker;
	if (!accepts || running !== 1 || !isQuick(recentMs)) return 0;
	return Math.max(0, Math.min(window, callsLeft) - prefetched);
}

/** The window after a call ended: 0, to which taking back sets it, opens again with the next call. */
export function windowAfterCall(window: number): number {
	return Math.min(MOST_WINDOW, Math.max(LEAST_WINDOW, window + 1));
}

/** Whether calls that wait behind another one are worth moving to a worker that has nothing to do. */
export function isWorthMoving(prefetched: number, recentMs: RecentMs): boolean {
	return prefetched >= 2 && prefetched * (recentMs ?? 0) >= WORTH_MOVING_MS;
}
