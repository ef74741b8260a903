import type { Clock, Timer } from "../../contract/clock.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import { outbox } from "../../outbox.ts";
import type { Worker } from "../../worker/worker.ts";
import type { CallReports } from "../observe/call-reports.ts";
import { Scheduler } from "../placement/placement.ts";
import type { SessionTable } from "../placement/session-table.ts";
import type { PoolSize } from "../workers/sizing.ts";
import type { Call } from "./call.ts";
import { type AttemptListener, CallAttempt } from "./call-attempt.ts";
import { queueTimedOut } from "./call-errors.ts";
import type { Occurrence } from "./call-states.ts";
import type { GiveUp } from "./call-watch.ts";
import type { OutstandingCalls } from "./outstanding-calls.ts";

/** For a call that is not sent in the moment in which that was decided. */
const sendLater = (attempt: CallAttempt): void => attempt.sendLater();

interface Wait {
	readonly sinceMs: number;
	readonly timer: Timer | undefined;
}

interface DispatchSetting {
	readonly options: ResolvedOptions;
	readonly size: Readonly<PoolSize>;
	readonly clock: Clock;
	/** How many calls that waited are sent in one turn of the event loop. */
	readonly dispatchesAtOnce: number;
	readonly outstanding: OutstandingCalls;
	readonly sessions: SessionTable;
	readonly reports: CallReports;
	readonly listener: AttemptListener;
	readonly giveUp: GiveUp;
	readonly happened: (
		call: Call,
		occurrence: Occurrence<Worker>,
		nowMs: number,
	) => void;
	/** Starts workers for calls that wait. */
	readonly fill: () => void;
}

/**
 * Brings calls to workers: at once, after a wait, or ahead of their turn, behind the call that a worker
 * still runs. A call that was prefetched waits for its caller, and is taken back when it would wait too long.
 */
export class Dispatch {
	/** Knows which calls wait, and which workers have room. */
	readonly scheduler: Scheduler;
	readonly #setting: DispatchSetting;

	constructor(setting: DispatchSetting) {
		const { options, size, clock, dispatchesAtOnce } = setting;
		this.#setting = setting;
		this.scheduler = new Scheduler(
			options,
			size,
			clock,
			dispatchesAtOnce,
			(worker) => this.serve(worker),
			(worker) => this.recall(worker),
		);
	}

	/** Calls wait from now on, also those that were prefetched; what runs goes on. */
	pause(): void {
		this.scheduler.pause();
	}

	resume(): void {
		for (const worker of this.scheduler.resume()) this.serve(worker);
		this.#setting.fill();
	}

	/** At first, and again after an attempt that failed. */
	seekWorker(call: Call, nowMs: number): void {
		const { scheduler } = this;
		const { happened } = this.#setting;
		const worker = scheduler.workerFor(call);
		if (worker !== undefined) {
			happened(call, { kind: "worker_found", worker }, nowMs);
			return;
		}
		const busy = scheduler.busyWorkerFor(call);
		happened(
			call,
			busy === undefined
				? scheduler.lackFor(call)
				: { kind: "room_ahead", worker: busy },
			nowMs,
		);
	}

	/** Again after an attempt that failed, and a pause. */
	seekWorkerAfter(pauseMs: number, call: Call, nowMs: number): void {
		if (pauseMs === 0) {
			this.seekWorker(call, nowMs);
			return;
		}
		// What reported the retry may have ended it.
		if (call.state.kind === "settled") return;
		const { clock } = this.#setting;
		const timer = clock.after(pauseMs, () =>
			this.seekWorker(call, clock.now()),
		);
		call.state = { kind: "pausing", timer };
	}

	/** Gives a worker what waits for it, as far as it has room and the pace allows. */
	serve(worker: Worker): void {
		const { clock, happened } = this.#setting;
		const { scheduler } = this;
		if (worker.calls.attempts.length === 0) {
			const next = scheduler.prefetch.next(worker);
			if (next !== undefined) this.begin(next, clock.now());
		}
		for (;;) {
			const call = scheduler.callFor(worker);
			if (call === undefined) break;
			happened(call, { kind: "worker_found", worker }, clock.now());
		}
		while (scheduler.line.size > 0) {
			const call = scheduler.callBehind(worker);
			if (call === undefined) break;
			happened(call, { kind: "room_ahead", worker }, clock.now());
		}
		if (scheduler.prefetch.size > 0 && worker.hasCapacity) {
			const busy = scheduler.prefetch.worthMoving();
			if (busy !== undefined) this.recall(busy);
		}
	}

	run(call: Call, worker: Worker, nowMs: number): void {
		const { listener } = this.#setting;
		const attempt = new CallAttempt(call, worker, nowMs, listener);
		this.begin(attempt, nowMs);
		// After the event of its dispatch: a listener may end the call before it leaves this program.
		if (outbox.size === 0) attempt.send();
		else outbox.post(sendLater, attempt);
	}

	/** Sends a call that waits on, in the worker. */
	sendAhead(call: Call, worker: Worker, nowMs: number): void {
		const { listener } = this.#setting;
		const attempt = new CallAttempt(call, worker, nowMs, listener);
		const { sinceMs, timer } = this.#waitOf(call, nowMs);
		call.state = { kind: "prefetched", sinceMs, timer, attempt };
		this.scheduler.prefetch.add(attempt);
		this.#setting.fill();
		if (outbox.size === 0) attempt.send();
		else outbox.post(sendLater, attempt);
	}

	wait(call: Call, nowMs: number): void {
		call.state = { kind: "waiting", ...this.#waitOf(call, nowMs) };
		this.scheduler.wait(call);
		call.instrument?.queued();
		const held = this.scheduler.heldBackBy(call);
		if (held !== undefined) this.recall(held);
		this.#setting.fill();
	}

	/** The worker runs the call from now on, as far as is known here. */
	begin(attempt: CallAttempt, nowMs: number): void {
		const { outstanding, reports } = this.#setting;
		const { call, worker } = attempt;
		const { state } = call;
		let waitedMs = 0;
		if (state.kind === "waiting" || state.kind === "prefetched") {
			state.timer?.cancel();
			waitedMs = nowMs - state.sinceMs;
		}
		call.attempts++;
		if (call.session !== undefined)
			this.#setting.sessions.bind(call.session, worker.ref.incarnation);
		call.state = { kind: "running", attempt };
		attempt.begin(nowMs);
		worker.calls.add(attempt);
		outstanding.running++;
		this.scheduler.noteLoad(worker);
		this.scheduler.prefetch.began(worker, attempt);
		reports.dispatched(attempt, waitedMs);
	}

	/** Its worker answered out of order, or refused it: it is over as one that was sent in its turn. */
	beginEarly(attempt: CallAttempt, nowMs: number): void {
		this.scheduler.prefetch.remove(attempt);
		this.begin(attempt, nowMs);
	}

	/**
	 * Takes back what was sent to a worker ahead: what has not begun goes back to its place in the queue, and
	 * the rest runs from now on.
	 *
	 * @param ended a call that is about to end, and does not go back.
	 */
	recall(worker: Worker, ended?: Call): void {
		const attempts = this.scheduler.prefetch.clear(worker);
		if (attempts.length === 0) return;
		const first = attempts.find(({ sent }) => sent !== "no");
		const returned = first && worker.connection?.prefetch?.recall(first.callId);
		const calls: Call[] = [];
		// First all that did not begin: listeners of the others may end them.
		for (const { call, sent } of attempts)
			if (sent === "no" || returned?.has(call.callId)) {
				this.#recalled(call);
				if (call !== ended) calls.push(call);
			}
		const nowMs = this.#setting.clock.now();
		for (const attempt of attempts)
			if (attempt.isAhead) this.begin(attempt, nowMs);
		for (const call of calls) this.#waitAgain(call, nowMs);
	}

	/** A call is about to end: if it was prefetched it is taken back, or has begun. */
	leaveWorker(call: Call): void {
		if (call.state.kind !== "prefetched") return;
		const { attempt } = call.state;
		this.recall(attempt.worker, call);
		// Within the taking-back of its worker: whether it began is not known yet.
		if (attempt.isAhead) this.begin(attempt, this.#setting.clock.now());
	}

	/** The worker did not begin this call, and will not. */
	returned(attempt: CallAttempt): void {
		const { clock, outstanding, reports } = this.#setting;
		const { call } = attempt;
		const nowMs = clock.now();
		if (attempt.isAhead) {
			this.scheduler.prefetch.remove(attempt);
			this.#recalled(call);
			this.#waitAgain(call, nowMs);
			return;
		}
		attempt.end();
		reports.released(attempt, undefined, 0);
		outstanding.attemptOver();
		if (call.state.kind === "running") {
			call.attempts--;
			call.state = { kind: "waiting", ...this.#newWait(call, nowMs) };
			this.#waitAgain(call, nowMs);
		}
		attempt.worker.finish(attempt);
	}

	#recalled(call: Call): void {
		if (call.state.kind !== "prefetched") return;
		const { sinceMs, timer, attempt } = call.state;
		attempt.end();
		call.timesRecalled++;
		call.state = { kind: "waiting", sinceMs, timer };
	}

	/** Goes to a worker that has nothing to do, or back to its place in the queue, whatever its limit. */
	#waitAgain(call: Call, nowMs: number): void {
		if (call.state.kind !== "waiting") return;
		const worker = this.scheduler.workerFor(call);
		this.#setting.happened(
			call,
			worker === undefined
				? { ...this.scheduler.lackFor(call), queue: "open" }
				: { kind: "worker_found", worker },
			nowMs,
		);
	}

	/** A call that waits already waits on. */
	#waitOf(call: Call, nowMs: number): Wait {
		const { state } = call;
		const hasLimit = Number.isFinite(call.queueTimeoutMs);
		return state.kind === "waiting" && (state.timer !== undefined || !hasLimit)
			? { sinceMs: state.sinceMs, timer: state.timer }
			: this.#newWait(call, nowMs);
	}

	#newWait(call: Call, nowMs: number): Wait {
		const { options, clock, giveUp } = this.#setting;
		const timer = Number.isFinite(call.queueTimeoutMs)
			? clock.after(call.queueTimeoutMs, () => {
					this.leaveWorker(call);
					// It has just begun: the wait is over.
					if (call.state.kind === "running") return;
					giveUp(call, () =>
						queueTimedOut(options.name, call, this.scheduler.waiting),
					);
				})
			: undefined;
		return { sinceMs: nowMs, timer };
	}
}
