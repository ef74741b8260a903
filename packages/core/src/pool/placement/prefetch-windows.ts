import type { Worker } from "../../worker/worker.ts";
import type { Clock, Timer } from "../../world.ts";
import type { Call } from "../calls/call.ts";
import type { CallAttempt } from "../calls/call-attempt.ts";
import { CapacityIndex } from "./capacity-index.ts";
import {
	isQuick,
	isWorthMoving,
	LEAST_WINDOW,
	mayGoAhead,
	type RecentMs,
	recentMsAfter,
	roomAhead,
	SLOW_HEAD_MS,
	windowAfterCall,
} from "./prefetch-policy.ts";

interface Window {
	readonly worker: Worker;
	/** In the order in which they were sent. */
	readonly attempts: CallAttempt[];
	size: number;
	head: CallAttempt | undefined;
	/** `"unknown"`: something has changed. A single call changes it twice without a question in between. */
	room: "known" | "unknown";
}

export interface AheadSetting {
	readonly clock: Clock;
	/** `recycle.afterCalls` */
	readonly afterCalls: number;
	/** Whether this worker takes calls of which nothing is known but their priority. */
	readonly mayTake: (worker: Worker) => boolean;
	/** The worker has run one call for so long that those behind it had better run elsewhere. */
	readonly onSlow: (worker: Worker) => void;
}

/** The calls that were sent to workers behind those that run, and which workers may get more of them. */
export class AheadWindows {
	/** How many calls there are in all windows. */
	size = 0;
	readonly #setting: AheadSetting;
	readonly #windows = new Map<Worker, Window>();
	readonly #withRoom = new CapacityIndex<Worker>();
	/** Those of which it is unknown whether they have room. */
	readonly #changed: Window[] = [];
	readonly #recentMs = new Map<string, number>();
	/** No call in a window has a lower priority. */
	#lowestPriority = Number.POSITIVE_INFINITY;
	#timer: Timer | undefined;

	constructor(setting: AheadSetting) {
		this.#setting = setting;
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
			mayGoAhead(call, worker.ref.incarnation) &&
			isQuick(this.#recentMs.get(call.command)) &&
			isAdmitted(worker, call) &&
			// A getter in the arguments may have changed anything.
			call.state.kind === "waiting" &&
			this.hasRoom(worker)
		);
	}

	/** How long the last calls of a command ran on workers that take calls ahead. */
	recentMs(command: string): RecentMs {
		return this.#recentMs.get(command);
	}

	hasRoom(worker: Worker): boolean {
		this.#judgeChanged();
		return this.#withRoom.has(worker);
	}

	/** The worker runs this call from now on. */
	began(worker: Worker, attempt: CallAttempt): void {
		if (worker.connection?.ahead === undefined) return;
		let window = this.#windows.get(worker);
		if (window === undefined) {
			window = {
				...{ worker, attempts: [], size: LEAST_WINDOW },
				...{ head: undefined, room: "known" },
			};
			this.#windows.set(worker, window);
		}
		window.head = attempt;
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
		this.#watch();
	}

	/** Takes out the call that the worker runs next. Where there is none, it may have room now, or none any more. */
	next(worker: Worker): CallAttempt | undefined {
		const window = this.#windows.get(worker);
		const attempt = window?.attempts.shift();
		if (attempt !== undefined) this.size--;
		else if (window?.room === "known") this.#changes(window);
		return attempt;
	}

	/** Takes out a call that was answered before its turn. */
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
		const ahead = window.attempts.length;
		const room = roomAhead({
			takes: this.#setting.mayTake(worker),
			running: worker.calls.attempts.length,
			ahead,
			recentMs: this.#recentOf(window),
			window: window.size,
			callsLeft: this.#setting.afterCalls - worker.calls.taken,
		});
		if (room > 0) this.#withRoom.put(worker, ahead);
		else this.#withRoom.remove(worker);
	}

	#recentOf({ head }: Window): number | undefined {
		return head && this.#recentMs.get(head.call.command);
	}

	#watch(): void {
		this.#timer ??= this.#setting.clock.after(SLOW_HEAD_MS, this.#look);
	}

	readonly #look = (): void => {
		this.#timer = undefined;
		const { clock, onSlow } = this.#setting;
		const since = clock.now() - SLOW_HEAD_MS;
		for (const [worker, { attempts, head }] of this.#windows)
			if (attempts.length > 0 && head !== undefined && head.startedMs <= since)
				onSlow(worker);
		if (this.size > 0) this.#watch();
	};
}

/** Arguments whose own code throws, as a getter may, are refused when they are sent, in their turn. */
function isAdmitted({ connection }: Worker, { command, args }: Call): boolean {
	try {
		return connection?.ahead?.admits(command, args) === true;
	} catch {
		return false;
	}
}
