import type { Clock } from "../../contract/clock.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import type { Worker } from "../../worker/worker.ts";
import type { Call } from "../calls/call.ts";
import type { Lack } from "../calls/call-states.ts";
import type { PoolSize } from "../workers/sizing.ts";
import { CapacityIndex } from "./capacity-index.ts";
import { DispatchPace } from "./dispatch-pace.ts";
import { PrefetchWindows } from "./prefetch-windows.ts";
import { boundTo, WaitingRoom } from "./wait-queue.ts";

/**
 * Which call runs on which worker, and which calls wait. Only knows who waits and
 * who has room: `Calls` runs what it returns.
 */
export class Scheduler {
	readonly #queueLimit: number;
	readonly #size: Readonly<PoolSize>;
	readonly #waiting = new WaitingRoom();
	/** How many calls wait here, and not in workers. */
	readonly line: { readonly size: number } = this.#waiting;
	readonly #capacity = new CapacityIndex<Worker>();
	/** By incarnation: those that took calls and are not gone. */
	readonly #workers = new Map<string, Worker>();
	/** Replaced already, but still needed by strict sessions. */
	readonly #reserved = new Set<Worker>();
	readonly #pace: DispatchPace<Worker>;
	readonly #recall: (worker: Worker) => void;
	/** The calls that wait in workers. */
	readonly prefetch: PrefetchWindows;
	#roomChange: PromiseWithResolvers<void> | undefined;
	/** `"hopeless"`: no worker could be started lately. */
	#outlook: "open" | "hopeless" = "open";
	#dispatch: "running" | "paused" = "running";

	/**
	 * @param size as it is now.
	 * @param serve gives a worker what waits for it, in a later turn of the event loop.
	 * @param recall takes back what was sent to a worker ahead.
	 */
	constructor(
		options: Pick<ResolvedOptions, "queue" | "recycle">,
		size: Readonly<PoolSize>,
		clock: Clock,
		atOnce: number,
		serve: (worker: Worker) => void,
		recall: (worker: Worker) => void,
	) {
		this.#queueLimit = options.queue.limit;
		this.#size = size;
		const { afterCalls } = options.recycle;
		this.#recall = recall;
		this.prefetch = new PrefetchWindows({
			clock,
			afterCalls,
			mayTake: (worker) =>
				worker.takesCalls &&
				worker.slot.callsPerWorker === 1 &&
				!this.#reserved.has(worker),
			onSlow: recall,
		});
		this.#pace = new DispatchPace(clock, atOnce, serve);
	}

	/** How many calls wait, those included that were prefetched. */
	get waiting(): number {
		return this.#waiting.size + this.prefetch.size;
	}

	get isPaused(): boolean {
		return this.#dispatch === "paused";
	}

	/** Calls wait from now on, whatever worker has room, also those that were prefetched. */
	pause(): void {
		this.#dispatch = "paused";
		for (const worker of this.#workers.values()) {
			this.#capacity.remove(worker);
			this.#recall(worker);
		}
	}

	/** Calls are sent to workers again. Returns the workers that may have room. */
	resume(): readonly Worker[] {
		this.#dispatch = "running";
		return [...this.#workers.values()];
	}

	/** The worker behind whose call this one is sent; `undefined` where it has to wait here. */
	busyWorkerFor(call: Call): Worker | undefined {
		if (
			this.#dispatch === "paused" ||
			this.#waiting.size > 0 ||
			!this.#hasRoom() ||
			// It would run after them: it waits here, and they are taken back.
			this.heldBackBy(call) !== undefined
		)
			return undefined;
		const incarnation = call.session?.incarnation;
		return this.prefetch.workerFor(
			call,
			incarnation === undefined ? undefined : this.#workers.get(incarnation),
		);
	}

	/** A worker in which less urgent calls wait than this one, which it could run. */
	heldBackBy(call: Call): Worker | undefined {
		const incarnation = boundTo(call);
		return this.prefetch.lessUrgentThan(
			call.priority,
			incarnation === undefined ? undefined : this.#workers.get(incarnation),
		);
	}

	/** Takes the next waiting call that may be sent behind the one that a worker runs. */
	callBehind(worker: Worker): Call | undefined {
		if (this.#dispatch === "paused" || this.#waiting.size === 0)
			return undefined;
		if (!this.prefetch.hasRoom(worker)) return undefined;
		if (this.#pace.isReached) {
			this.#pace.postpone(worker);
			return undefined;
		}
		const call = this.#waiting.peekFor(worker.ref.incarnation);
		if (call === undefined || !this.prefetch.admits(worker, call))
			return undefined;
		this.#waiting.remove(call);
		this.#pace.count();
		return call;
	}

	/** Whether one more call, without a session, would not be refused for want of room. */
	get takesOneMore(): boolean {
		if (this.#capacity.size > 0 || this.#hasRoom()) return true;
		if (this.#dispatch === "paused") return false;
		// Nothing can wait, and there is no worker: one comes without a call only where some are always there.
		const expectsWorker = this.#size.min > 0 && this.#outlook === "open";
		return this.#queueLimit === 0 && this.#workers.size === 0 && !expectsWorker;
	}

	/** Resolves when that may have changed. */
	roomChanged(): Promise<void> {
		this.#roomChange ??= Promise.withResolvers();
		return this.#roomChange.promise;
	}

	/** Whatever waits for room looks again. */
	noteRoom(): void {
		this.#roomChange?.resolve();
		this.#roomChange = undefined;
	}

	/** The worker that runs a call now: one that may, has room, and is not for a call that came before. */
	workerFor(call: Call): Worker | undefined {
		if (this.#dispatch === "paused") return undefined;
		if (this.#pace.postponed.size > 0 && this.#waiting.size === 0)
			this.#pace.release();
		const incarnation = call.session?.incarnation;
		if (incarnation === undefined) return this.#capacity.leastLoaded();
		const preferred = this.#workers.get(incarnation);
		const isBound = boundTo(call) !== undefined;
		if (
			preferred?.hasCapacity &&
			!this.#pace.postponed.has(preferred) &&
			// One that is replaced already runs what can run nowhere else.
			(isBound || !this.#reserved.has(preferred))
		)
			return preferred;
		return isBound ? undefined : this.#capacity.leastLoaded();
	}

	/** Why no worker runs a call now. */
	lackFor(call: Call): Lack {
		const incarnation = boundTo(call);
		const isStranded =
			incarnation !== undefined && !this.#workers.has(incarnation);
		return {
			kind: "no_worker",
			queue: this.#hasRoom() ? "open" : "full",
			process: isStranded ? "gone" : "there",
		};
	}

	/** Takes the call that a worker runs next. `undefined` when none waits for it, it has no room, or its turn is later. */
	callFor(worker: Worker): Call | undefined {
		if (this.#roomChange !== undefined) this.noteRoom();
		const { incarnation } = worker.ref;
		this.#outlook = "open";
		this.#workers.set(incarnation, worker);
		if (this.#dispatch === "paused" || !worker.hasCapacity) {
			this.#capacity.remove(worker);
			return undefined;
		}
		const isReserved = this.#reserved.has(worker);
		if (this.#waiting.size > 0) {
			if (this.#pace.isReached) {
				this.#pace.postpone(worker);
				return undefined;
			}
			const call = isReserved
				? this.#waiting.takeBound(incarnation)
				: this.#waiting.takeFor(incarnation);
			if (call !== undefined) {
				this.#pace.count();
				return call;
			}
		}
		if (!isReserved) this.#capacity.put(worker, worker.calls.attempts.length);
		return undefined;
	}

	/** Lets a call wait. */
	wait(call: Call): void {
		this.#waiting.add(call);
	}

	/** A call that waited, or was about to, is settled. */
	leave(call: Call): void {
		this.#waiting.remove(call);
		if (this.#roomChange !== undefined) this.noteRoom();
	}

	/** No worker can be started. Returns the calls that wait. */
	loseHope(): readonly Call[] {
		this.#outlook = "hopeless";
		return this.#waiting.all();
	}

	/** A worker was given a call. */
	noteLoad(worker: Worker): void {
		const mayTakeMore =
			this.#dispatch === "running" &&
			worker.hasCapacity &&
			!this.#reserved.has(worker);
		if (mayTakeMore) this.#capacity.put(worker, worker.calls.attempts.length);
		else this.#capacity.remove(worker);
	}

	/** From now on this worker takes only the calls of sessions that are bound to it. */
	reserveForSessions(worker: Worker): void {
		this.#reserved.add(worker);
		this.#capacity.remove(worker);
		this.#recall(worker);
	}

	/** A worker takes no more calls, or none for now. */
	withdraw(worker: Worker): void {
		this.#capacity.remove(worker);
		this.#recall(worker);
	}

	/** A worker is gone. Returns the calls that could run nowhere else, which wait no more. */
	remove(worker: Worker): readonly Call[] {
		if (this.#roomChange !== undefined) this.noteRoom();
		const { incarnation } = worker.ref;
		this.#capacity.forget(worker);
		this.prefetch.forget(worker);
		this.#pace.forget(worker);
		this.#workers.delete(incarnation);
		this.#reserved.delete(worker);
		return this.#waiting.evict(incarnation);
	}

	/** Whether one more call may wait. Those that are sent in the next turns do not count. */
	#hasRoom(): boolean {
		const limit = this.#queueLimit;
		if (this.waiting < limit) return true;
		let sentNext = 0;
		for (const worker of this.#pace.postponed)
			if (worker.hasCapacity && !this.#reserved.has(worker))
				sentNext += worker.slot.callsPerWorker - worker.calls.attempts.length;
		return this.waiting - sentNext < limit;
	}
}
