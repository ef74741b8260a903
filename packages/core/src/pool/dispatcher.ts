import type { SnakepitError, StartError } from "../errors.ts";
import type { Worker } from "../worker/worker.ts";
import { type AttemptListener, CallAttempt } from "./attempt.ts";
import type { Call } from "./call.ts";
import {
	aborted,
	asBegun,
	noWorker,
	queueFull,
	queueTimedOut,
} from "./call-errors.ts";
import { CallSettlement } from "./call-settlement.ts";
import { watchCall } from "./call-watch.ts";
import { CapacityIndex } from "./capacity-index.ts";
import { Changes } from "./changes.ts";
import { DispatchPace } from "./dispatch-pace.ts";
import type { DispatcherSetting } from "./dispatcher-setting.ts";
import { judgeRetry } from "./retry-policy.ts";
import { sessionLost } from "./session-table.ts";
import { boundTo, WaitingRoom } from "./waiting-room.ts";

/**
 * Brings calls and workers together. Knows nothing of how workers come and go:
 * it is told when one has room and when one has not.
 */
export class Dispatcher {
	readonly #setting: DispatcherSetting;
	readonly #waiting = new WaitingRoom();
	readonly #capacity = new CapacityIndex<Worker>();
	/** By incarnation: those that took calls and are not gone. */
	readonly #workers = new Map<string, Worker>();
	/** Replaced already, but still needed by strict sessions. */
	readonly #reserved = new Set<Worker>();
	readonly #pace: DispatchPace<Worker>;
	readonly #room = new Changes();
	#running = 0;
	/** `"hopeless"`: no worker could be started lately. */
	#outlook: "open" | "hopeless" = "open";
	readonly #settlement: CallSettlement;

	constructor(setting: DispatcherSetting) {
		this.#setting = setting;
		const { clock, atOnce, onSettled } = setting;
		this.#settlement = new CallSettlement(this.#waiting, this.#room, onSettled);
		this.#pace = new DispatchPace(clock, atOnce, (worker) =>
			this.#serve(worker),
		);
	}

	get waiting(): number {
		return this.#waiting.size;
	}
	get running(): number {
		return this.#running;
	}
	/** Whether it is no use to wait before a call without a session is made: it would run or wait, or never be taken. */
	get takesOneMore(): boolean {
		const { limit } = this.#setting.options.queue;
		if (this.#hasRoom(limit) || this.#capacity.size > 0) return true;
		return limit === 0 && this.#workers.size === 0 && !this.#expectsWorker;
	}
	/** Whether one comes though no call waits: those that are always there are started again until that is hopeless. */
	get #expectsWorker(): boolean {
		return this.#setting.options.size.min > 0 && this.#outlook === "open";
	}
	/** Resolves when that may have changed. */
	roomChanged(): Promise<void> {
		return this.#room.next();
	}

	/** Takes a call: runs it now, or lets it wait, or refuses it. */
	submit(call: Call): void {
		const { pool, clock, options } = this.#setting;
		watchCall(call, pool, clock, this.#settle);
		if (call.state.kind === "settled") return;
		const hasRoom = this.#hasRoom(options.queue.limit);
		if (this.#tryNow(call)) return;
		if (hasRoom) this.#wait(call);
		else this.#settle(call, queueFull(pool, this.waiting, this.#running));
	}

	/** From now on this worker takes only the calls of sessions that are bound to it. */
	reserveForSessions(worker: Worker): void {
		this.#reserved.add(worker);
		this.#capacity.remove(worker);
	}

	capacityOffered(worker: Worker): void {
		this.#outlook = "open";
		this.#workers.set(worker.ref.incarnation, worker);
		this.#serve(worker);
	}

	capacityWithdrawn(worker: Worker): void {
		this.#capacity.remove(worker);
	}

	/** The worker is gone: calls that could run nowhere else are lost. */
	released(worker: Worker): void {
		const { incarnation } = worker.ref;
		this.#capacity.remove(worker);
		this.#workers.delete(incarnation);
		this.#reserved.delete(worker);
		for (const call of this.#waiting.evict(incarnation)) {
			if (call.session !== undefined)
				this.#settle(call, sessionLost(call.session, call.attempts));
		}
	}

	/** These calls are over for their callers; those that run are cancelled on their workers. */
	fail(calls: Iterable<Call>, error: (call: Call) => SnakepitError): void {
		for (const call of [...calls]) this.#settle(call, error(call));
		this.#room.tell();
	}

	/** The program is about to die: no caller is told of a failure any more. */
	withholdFailures(): void {
		this.#settlement.failures = "withheld";
	}
	/** Whether callers are told of failures. */
	get failures(): CallSettlement["failures"] {
		return this.#settlement.failures;
	}

	/** Every call that waits fails with this error: no worker can be started. */
	failWaiting(error: StartError): void {
		this.#outlook = "hopeless";
		this.fail(this.#waiting.all(), (call) => noWorker(error, call));
	}

	/** The consumer of a stream left before its end: the call is aborted, if it is not over. */
	abandon(call: Call): void {
		this.#settle(call, aborted(this.#setting.pool, call, undefined));
	}

	/** Whether one more may wait. Those that get a worker in the next turns are as good as gone. */
	#hasRoom(limit: number): boolean {
		if (this.waiting < limit) return true;
		let taken = 0;
		for (const worker of this.#pace.postponed)
			if (worker.hasCapacity && !this.#reserved.has(worker))
				taken += worker.slot.callsPerWorker - worker.callsRunning;
		return this.waiting - taken < limit;
	}

	/** Gives a worker what waits for it, as far as it has room and the pace allows. */
	#serve(worker: Worker): void {
		const { incarnation } = worker.ref;
		while (worker.hasCapacity) {
			if (this.#pace.isReached && this.waiting > 0) {
				this.#pace.postpone(worker);
				return;
			}
			const call = this.#reserved.has(worker)
				? this.#waiting.takeBound(incarnation)
				: this.#waiting.takeFor(incarnation);
			if (call === undefined) break;
			this.#pace.count();
			this.#dispatch(call, worker);
		}
		this.#noteCapacity(worker);
	}

	/** Runs a call if a worker that may take it has room, and no other call has a claim to that. */
	#tryNow(call: Call): boolean {
		if (this.waiting === 0) this.#pace.release();
		const incarnation = call.session?.incarnation;
		const preferred =
			incarnation === undefined ? undefined : this.#workers.get(incarnation);
		const onlyThat = boundTo(call) !== undefined;
		const worker =
			preferred?.hasCapacity === true && !this.#pace.postponed.has(preferred)
				? preferred
				: onlyThat
					? undefined
					: this.#capacity.leastLoaded();
		if (worker !== undefined) this.#dispatch(call, worker);
		return worker !== undefined;
	}

	#wait(call: Call): void {
		const { clock, pool } = this.#setting;
		const incarnation = boundTo(call);
		if (
			call.session !== undefined &&
			incarnation !== undefined &&
			!this.#workers.has(incarnation)
		) {
			this.#settle(call, sessionLost(call.session, call.attempts));
			return;
		}
		const timer = Number.isFinite(call.queueTimeoutMs)
			? clock.after(call.queueTimeoutMs, () =>
					this.#settle(call, queueTimedOut(pool, call, this.waiting)),
				)
			: undefined;
		call.state = { kind: "waiting", sinceMs: clock.now(), timer };
		this.#waiting.add(call);
		call.instrument?.queued();
		this.#setting.onDemand();
	}

	#dispatch(call: Call, worker: Worker): void {
		const { clock, emit, options } = this.#setting;
		const { state } = call;
		if (state.kind === "waiting") state.timer?.cancel();
		const nowMs = clock.now();
		const waitedMs = state.kind === "waiting" ? nowMs - state.sinceMs : 0;
		call.attempts++;
		if (call.session !== undefined)
			call.session.incarnation = worker.ref.incarnation;
		this.#running++;
		this.#setting.onDispatched(waitedMs);
		const { cancelGraceMs } = options.calls;
		const attempt = new CallAttempt(
			call,
			worker,
			waitedMs,
			nowMs,
			{ clock, emit, cancelGraceMs },
			this.#attempts,
		);
		call.state = { kind: "running", attempt };
		this.#noteCapacity(worker);
		this.#room.tell();
		attempt.run();
	}

	#noteCapacity(worker: Worker): void {
		if (worker.hasCapacity && !this.#reserved.has(worker)) {
			this.#capacity.put(worker);
			this.#room.tell();
		} else this.#capacity.remove(worker);
	}

	readonly #attempts: AttemptListener = {
		over: (_attempt, ranMs) => {
			this.#running--;
			this.#setting.onReleased(ranMs);
		},
		answered: (attempt) => {
			if (isCurrent(attempt)) this.#settle(attempt.call, undefined);
		},
		failed: (attempt, error) => {
			if (isCurrent(attempt)) this.#retryOrSettle(attempt, error);
		},
	};

	#retryOrSettle({ call, number }: CallAttempt, error: SnakepitError): void {
		const { clock, emit, pool } = this.#setting;
		if (error.ran === "maybe") call.begun++;
		const spent = call.work.begun || call.input?.opened === "yes";
		const verdict = spent ? "give_up" : judgeRetry(error, call);
		if (verdict === "give_up") {
			this.#settle(call, call.begun > 0 ? asBegun(error) : error);
			return;
		}
		emit({
			type: "call.retried",
			wallMs: clock.wall(),
			pool,
			callId: call.callId,
			command: call.command,
			attempt: number,
			because: error.code,
		});
		call.instrument?.retried(error);
		// Whoever heard of it may have given the call up.
		if (call.state.kind === "settled") return;
		// It keeps its place in the line, whatever the limit: it was taken before.
		if (!this.#tryNow(call)) this.#wait(call);
	}

	readonly #settle = (call: Call, error: SnakepitError | undefined): void =>
		this.#settlement.settle(call, error);
}

/** Whether its call still waits for this very attempt. */
function isCurrent(attempt: CallAttempt): boolean {
	const { state } = attempt.call;
	return state.kind === "running" && state.attempt === attempt;
}
