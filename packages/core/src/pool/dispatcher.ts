import type { SnakepitError } from "../errors.ts";
import type { SnakepitEvent } from "../events.ts";
import type { ResolvedOptions } from "../options.ts";
import type { Worker } from "../worker/worker.ts";
import type { Clock } from "../world.ts";
import { CallAttempt, type AttemptListener } from "./attempt.ts";
import { aborted, queueFull, queueTimedOut, timedOut } from "./call-errors.ts";
import type { Call } from "./call.ts";
import { CapacityIndex } from "./capacity-index.ts";
import { isBefore, PriorityQueue } from "./priority-queue.ts";
import { judgeRetry } from "./retry-policy.ts";
import { sessionLost } from "./session-table.ts";

export interface DispatcherSetting {
	readonly pool: string;
	readonly options: ResolvedOptions;
	readonly clock: Clock;
	readonly emit: (event: SnakepitEvent) => void;
	/** Calls wait and no worker has room. */
	readonly onDemand: () => void;
	/** A call is over for its caller. */
	readonly onSettled: (call: Call, error: SnakepitError | undefined) => void;
	/** A call begins on a worker. */
	readonly onDispatched: (waitedMs: number) => void;
	/** An attempt is over on its worker. */
	readonly onReleased: (ranMs: number) => void;
}

/**
 * Brings calls and workers together. Knows nothing of how workers come and go:
 * it is told when one has room and when one has not.
 */
export class Dispatcher {
	readonly #setting: DispatcherSetting;
	readonly #waiting = new PriorityQueue<Call>();
	/** Calls of strict sessions, by the incarnation that they must run on. */
	readonly #bound = new Map<string, PriorityQueue<Call>>();
	readonly #capacity = new CapacityIndex<Worker>();
	readonly #workers = new Map<string, Worker>();
	#running = 0;
	#boundWaiting = 0;

	constructor(setting: DispatcherSetting) {
		this.#setting = setting;
	}

	get waiting(): number {
		return this.#waiting.size + this.#boundWaiting;
	}
	get running(): number {
		return this.#running;
	}

	/** Takes a call: runs it now, or lets it wait, or refuses it. */
	submit(call: Call): void {
		this.#watch(call);
		if (call.state.kind === "settled") return;
		const worker = this.#workerFor(call);
		if (worker !== undefined) return this.#dispatch(call, worker);
		if (this.waiting >= this.#setting.options.queue.limit)
			return this.#settle(
				call,
				queueFull(this.#setting.pool, this.waiting, this.#running),
			);
		this.#enqueue(call);
		this.#setting.onDemand();
	}

	capacityOffered(worker: Worker): void {
		this.#workers.set(worker.ref.incarnation, worker);
		while (worker.hasCapacity) {
			const call = this.#nextFor(worker);
			if (call === undefined) break;
			this.#dispatch(call, worker);
		}
		if (worker.hasCapacity) this.#capacity.put(worker);
		else this.#capacity.remove(worker);
	}

	capacityWithdrawn(worker: Worker): void {
		this.#capacity.remove(worker);
	}

	/** The worker is gone: calls that could run nowhere else are lost. */
	released(worker: Worker): void {
		this.#capacity.remove(worker);
		this.#workers.delete(worker.ref.incarnation);
		const bound = this.#bound.get(worker.ref.incarnation);
		this.#bound.delete(worker.ref.incarnation);
		for (const call of bound ?? []) {
			this.#boundWaiting--;
			if (call.session !== undefined)
				this.#settle(call, sessionLost(call.session));
		}
	}

	/** These calls are over for their callers; those that run are cancelled on their workers. */
	fail(calls: Iterable<Call>, error: (call: Call) => SnakepitError): void {
		for (const call of [...calls]) this.#settle(call, error(call));
	}

	/** The consumer of a stream left before its end: the call is aborted, if it is not over. */
	abandon(call: Call): void {
		this.#settle(call, aborted(this.#setting.pool, call, undefined));
	}

	/** Every call that waits fails with this error. */
	failWaiting(error: (call: Call) => SnakepitError): void {
		const calls = [
			...this.#waiting,
			...[...this.#bound.values()].flatMap((queue) => [...queue]),
		];
		for (const call of calls) this.#settle(call, error(call));
	}

	#workerFor(call: Call): Worker | undefined {
		const preferred =
			call.session?.incarnation === undefined
				? undefined
				: this.#workers.get(call.session.incarnation);
		if (
			call.session?.affinity === "strict" &&
			call.session.incarnation !== undefined
		) {
			return preferred?.hasCapacity === true ? preferred : undefined;
		}
		return preferred?.hasCapacity === true
			? preferred
			: this.#capacity.leastLoaded();
	}

	#enqueue(call: Call): void {
		const { clock } = this.#setting;
		const timer = Number.isFinite(call.queueTimeoutMs)
			? clock.after(call.queueTimeoutMs, () =>
					this.#settle(
						call,
						queueTimedOut(this.#setting.pool, call, this.waiting),
					),
				)
			: undefined;
		call.state = { kind: "waiting", sinceMs: clock.now(), timer };
		this.#place(call);
	}

	/** Into the queue of its own worker when its session is bound to one, else into the common one. */
	#place(call: Call): void {
		const incarnation =
			call.session?.affinity === "strict"
				? call.session.incarnation
				: undefined;
		if (incarnation === undefined) return this.#waiting.add(call);
		if (!this.#workers.has(incarnation)) {
			if (call.session !== undefined)
				this.#settle(call, sessionLost(call.session));
			return;
		}
		let queue = this.#bound.get(incarnation);
		if (queue === undefined) {
			queue = new PriorityQueue();
			this.#bound.set(incarnation, queue);
		}
		queue.add(call);
		this.#boundWaiting++;
	}

	#unplace(call: Call): void {
		if (this.#waiting.remove(call)) return;
		for (const queue of this.#bound.values()) {
			if (queue.remove(call)) {
				this.#boundWaiting--;
				return;
			}
		}
	}

	/** The next call that this worker may run; calls whose session was bound elsewhere meanwhile move there. */
	#nextFor(worker: Worker): Call | undefined {
		const own = this.#bound.get(worker.ref.incarnation);
		for (;;) {
			const bound = own?.peek();
			const common = this.#waiting.peek();
			if (
				bound !== undefined &&
				(common === undefined || isBefore(bound, common))
			) {
				own?.take();
				this.#boundWaiting--;
				return bound;
			}
			if (common === undefined) return undefined;
			this.#waiting.take();
			const incarnation =
				common.session?.affinity === "strict"
					? common.session.incarnation
					: undefined;
			if (incarnation === undefined || incarnation === worker.ref.incarnation)
				return common;
			this.#place(common);
		}
	}

	#dispatch(call: Call, worker: Worker): void {
		const { clock, emit, options } = this.#setting;
		const waitedMs =
			clock.now() -
			(call.state.kind === "waiting" ? call.state.sinceMs : call.acceptedMs);
		if (call.state.kind === "waiting") call.state.timer?.cancel();
		call.attempts++;
		if (call.session !== undefined)
			call.session.incarnation = worker.ref.incarnation;
		this.#running++;
		this.#setting.onDispatched(waitedMs);
		const attempt = new CallAttempt(
			call,
			worker,
			waitedMs,
			{ clock, emit, cancelGraceMs: options.calls.cancelGraceMs },
			this.#attempts,
		);
		call.state = { kind: "running", attempt };
		if (worker.hasCapacity) this.#capacity.put(worker);
		else this.#capacity.remove(worker);
		attempt.run();
	}

	readonly #attempts: AttemptListener = {
		over: (_attempt, ranMs) => {
			this.#running--;
			this.#setting.onReleased(ranMs);
		},
		answered: (attempt) => {
			if (isCurrent(attempt)) this.#settle(attempt.call, undefined);
		},
		/** Make it again, or tell the caller. */
		failed: (attempt, error) => {
			if (!isCurrent(attempt)) return;
			const { call } = attempt;
			if (
				call.work.begun ||
				judgeRetry(error, call.attempts, call.idempotentRetries) === "give_up"
			)
				return this.#settle(call, error);
			const { clock, emit, pool } = this.#setting;
			emit({
				type: "call.retried",
				wallMs: clock.wall(),
				pool,
				callId: call.callId,
				command: call.command,
				attempt: attempt.number,
				because: error.code,
			});
			// It keeps its place in the line: it came before those that wait.
			const worker = this.#workerFor(call);
			if (worker !== undefined) return this.#dispatch(call, worker);
			this.#enqueue(call);
			this.#setting.onDemand();
		},
	};

	/** Watches for the caller's abort and the deadline. */
	#watch(call: Call): void {
		const { clock, pool } = this.#setting;
		const { signal } = call;
		const onAbort = (): void =>
			this.#settle(call, aborted(pool, call, signal?.reason));
		if (signal?.aborted === true) return onAbort();
		signal?.addEventListener("abort", onAbort, { once: true });
		const timer =
			call.deadlineMs === undefined
				? undefined
				: clock.after(Math.max(0, call.deadlineMs - clock.now()), () =>
						this.#settle(call, timedOut(pool, call, clock.now())),
					);
		call.unwatch = () => {
			signal?.removeEventListener("abort", onAbort);
			timer?.cancel();
		};
	}

	/** The one place where a call ends for its caller. */
	#settle(call: Call, error: SnakepitError | undefined): void {
		const { state } = call;
		if (state.kind === "settled") return;
		call.state = { kind: "settled" };
		call.unwatch();
		if (state.kind === "waiting") {
			state.timer?.cancel();
			this.#unplace(call);
		} else if (error !== undefined) {
			state.attempt.cancel(error);
		}
		this.#setting.onSettled(call, error);
		if (error === undefined) call.work.succeed();
		else call.work.fail(error);
	}
}

/** Whether its call still waits for this very attempt. */
function isCurrent(attempt: CallAttempt): boolean {
	return (
		attempt.call.state.kind === "running" &&
		attempt.call.state.attempt === attempt
	);
}
