import type { ResolvedOptions } from "../../options/pool-options.ts";
import type { Worker } from "../../worker/worker.ts";
import type { Call } from "../calls/call.ts";
import type { Placing } from "../calls/call-states.ts";
import type { PoolSize } from "../workers/sizing.ts";
import { CapacityIndex } from "./capacity-index.ts";
import type { DispatchPace } from "./dispatch-pace.ts";
import { PrefetchWindows } from "./prefetch-windows.ts";
import { boundTo, WaitQueue } from "./wait-queue.ts";

/**
 * Which worker runs a call, and which call a worker runs next. Only knows who waits and
 * who has room: `Calls` carries out what it returns.
 */
export class Placement {
	/** The calls that wait in workers. */
	readonly prefetch: PrefetchWindows;
	readonly #queueLimit: number;
	readonly #size: Readonly<PoolSize>;
	readonly #pace: DispatchPace<Worker>;
	readonly #queue = new WaitQueue();
	/** How many calls wait here, and not in workers. */
	readonly queue: { readonly size: number } = this.#queue;
	readonly #capacity = new CapacityIndex<Worker>();
	/** By incarnation: those that took calls and are not gone. */
	readonly #workers = new Map<string, Worker>();
	/** Replaced already, but still needed by strict sessions. */
	readonly #reserved = new Set<Worker>();
	#roomChange: PromiseWithResolvers<void> | undefined;
	/** Whether a worker could be started lately. */
	#canStart: "yes" | "no" = "yes";
	#dispatch: "running" | "paused" = "running";

	/** @param size as it is now. */
	constructor(
		options: Pick<ResolvedOptions, "queue" | "recycle">,
		size: Readonly<PoolSize>,
		pace: DispatchPace<Worker>,
	) {
		this.#queueLimit = options.queue.limit;
		this.#size = size;
		this.#pace = pace;
		this.prefetch = new PrefetchWindows(
			options.recycle.afterCalls,
			(worker) =>
				!worker.isEnding &&
				worker.calls.cancelled === 0 &&
				worker.slot.callsPerWorker === 1 &&
				!this.#reserved.has(worker),
		);
	}

	/** How many calls wait, those included that are prefetched. */
	get waiting(): number {
		return this.#queue.size + this.prefetch.size;
	}

	get isPaused(): boolean {
		return this.#dispatch === "paused";
	}

	/** Calls wait from now on, whatever worker has room. Returns the workers whose prefetched calls are to be recalled. */
	pause(): readonly Worker[] {
		this.#dispatch = "paused";
		for (const worker of this.#workers.values()) this.withdraw(worker);
		return [...this.#workers.values()];
	}

	/** Calls are sent to workers again. Returns the workers that may have room. */
	resume(): readonly Worker[] {
		this.#dispatch = "running";
		return [...this.#workers.values()];
	}

	/**
	 * Where a call goes that seeks a worker: to one that may run it, has room, and is not for a call that came before.
	 *
	 * @param as one that was accepted before keeps its place in the queue, and is not prefetched.
	 */
	place(call: Call, as: "new" | "accepted"): Placing<Worker> {
		if (this.#dispatch === "running") {
			if (this.#pace.postponed.size > 0 && this.#queue.size === 0)
				this.#pace.release();
			const incarnation = call.session?.incarnation;
			const worker =
				incarnation === undefined
					? this.#capacity.leastLoaded()
					: this.#workerOfSession(call, incarnation);
			if (worker !== undefined) return { kind: "placed", worker };
			const busy = as === "new" ? this.#workerThatPrefetches(call) : undefined;
			if (busy !== undefined) return { kind: "prefetchable", worker: busy };
		}
		const incarnation = boundTo(call);
		return {
			kind: "no_worker",
			queue: as === "accepted" || this.#hasRoom() ? "open" : "full",
			process:
				incarnation === undefined || this.#workers.has(incarnation)
					? "there"
					: "gone",
		};
	}

	#workerOfSession(call: Call, incarnation: string): Worker | undefined {
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

	#workerThatPrefetches(call: Call): Worker | undefined {
		if (
			this.#queue.size > 0 ||
			!this.#hasRoom() ||
			// It would run after them: it waits here, and they are recalled.
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

	/** Takes the call that a worker runs next. `undefined` when none waits for it, it has no room, or its turn is later. */
	callFor(worker: Worker): Call | undefined {
		this.prefetch.changed(worker);
		if (this.#roomChange !== undefined) this.noteRoom();
		const { incarnation } = worker.ref;
		this.#canStart = "yes";
		this.#workers.set(incarnation, worker);
		if (this.#dispatch === "paused" || !worker.hasCapacity) {
			this.withdraw(worker);
			return undefined;
		}
		const isReserved = this.#reserved.has(worker);
		if (this.#queue.size > 0) {
			if (this.#pace.isReached) {
				this.#pace.postpone(worker);
				return undefined;
			}
			const call = isReserved
				? this.#queue.takeBound(incarnation)
				: this.#queue.takeFor(incarnation);
			if (call !== undefined) {
				this.#pace.count();
				return call;
			}
		}
		if (!isReserved) this.#capacity.put(worker, worker.calls.attempts.length);
		return undefined;
	}

	/** Takes the next waiting call that a worker prefetches. */
	callToPrefetch(worker: Worker): Call | undefined {
		if (this.#dispatch === "paused") return undefined;
		if (!this.prefetch.hasRoom(worker)) return undefined;
		if (this.#pace.isReached) {
			this.#pace.postpone(worker);
			return undefined;
		}
		const call = this.#queue.peekFor(worker.ref.incarnation);
		if (call === undefined || !this.prefetch.admits(worker, call))
			return undefined;
		this.#queue.remove(call);
		this.#pace.count();
		return call;
	}

	/** The call is queued. */
	wait(call: Call): void {
		this.#queue.add(call);
	}

	/** A call that waited, or was about to, is settled. */
	leave(call: Call): void {
		this.#queue.remove(call);
		if (this.#roomChange !== undefined) this.noteRoom();
	}

	/** Whether one more call, without a session, would not be refused for want of room. */
	get acceptsOneMore(): boolean {
		if (this.#capacity.size > 0 || this.#hasRoom()) return true;
		if (this.#dispatch === "paused") return false;
		// Nothing can wait, and there is no worker: one comes without a call only where some are always there.
		const expectsWorker = this.#size.min > 0 && this.#canStart === "yes";
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

	/** No worker can be started. Returns the calls that wait. */
	noteCannotStart(): readonly Call[] {
		this.#canStart = "no";
		return this.#queue.all();
	}

	/** A worker runs one more call. */
	began(worker: Worker): void {
		this.prefetch.changed(worker);
		const mayTakeMore =
			this.#dispatch === "running" &&
			worker.hasCapacity &&
			!this.#reserved.has(worker);
		this.#capacity.put(
			worker,
			mayTakeMore ? worker.calls.attempts.length : undefined,
		);
	}

	/** From now on this worker takes only the calls of sessions that are bound to it. */
	reserveForSessions(worker: Worker): void {
		this.#reserved.add(worker);
		this.withdraw(worker);
	}

	/** A worker takes no more calls, or none for now. */
	withdraw(worker: Worker): void {
		this.#capacity.put(worker, undefined);
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
		return this.#queue.evict(incarnation);
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
