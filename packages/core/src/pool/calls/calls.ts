import type { Clock, Random } from "../../contract/clock.ts";
import type { SnakepitError, StartError } from "../../contract/errors.ts";
import type { ProcessHost } from "../../contract/world.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import { outbox } from "../../outbox.ts";
import type { Worker } from "../../worker/worker.ts";
import type { CallReports } from "../observe/call-reports.ts";
import type { Scheduler } from "../placement/placement.ts";
import {
	type Session,
	type SessionTable,
	sessionLost,
} from "../placement/session-table.ts";
import {
	checkLease,
	LEASE,
	type LeaseOptions,
	type LeaseTask,
	leaseWork,
} from "../work/lease.ts";
import type { PoolSize } from "../workers/sizing.ts";
import {
	type Call,
	type CallerContext,
	capturedContext,
	newCall,
	UnaryWork,
	type Work,
} from "./call.ts";
import type { AttemptListener, CallAttempt } from "./call-attempt.ts";
import {
	aborted,
	afterAttempts,
	noWorker,
	poolClosed,
	queueFull,
} from "./call-errors.ts";
import { checkCall, type ExecuteOptions } from "./call-options.ts";
import { nextStep, type Occurrence } from "./call-states.ts";
import { type GiveUp, watchCall } from "./call-watch.ts";
import { Dispatch } from "./dispatch.ts";
import { failedAttempt } from "./failed-attempt.ts";
import { OutstandingCalls } from "./outstanding-calls.ts";

interface CallsSetting {
	readonly options: ResolvedOptions;
	readonly size: Readonly<PoolSize>;
	readonly clock: Clock;
	readonly host: ProcessHost;
	readonly random: Random;
	/** How many calls that waited are sent in one turn of the event loop. */
	readonly dispatchesAtOnce: number;
	readonly sessions: SessionTable;
	readonly reports: CallReports;
	/** Starts workers for calls that wait. */
	readonly fill: () => void;
}

/**
 * The calls of one pool, each from its acceptance to its one settlement. `nextStep`
 * decides what a call does next, `Scheduler` on which worker; the effects are here.
 */
export class Calls implements AttemptListener {
	/** Those that are not settled. */
	readonly outstanding: OutstandingCalls;
	/** Knows which calls wait, and which workers have room. */
	readonly scheduler: Scheduler;
	readonly dispatch: Dispatch;
	readonly #setting: CallsSetting;
	readonly #pool: string;
	#sequence = 0;
	/** `"dying"`: the program ends, and an uncaught error would end it first. */
	#phase: "open" | "closed" | "dying" = "open";

	constructor(setting: CallsSetting) {
		const { options, clock, host } = setting;
		this.#setting = setting;
		this.#pool = options.name;
		this.outstanding = new OutstandingCalls(host, clock);
		this.dispatch = new Dispatch({
			...setting,
			outstanding: this.outstanding,
			listener: this,
			giveUp: this.#giveUp,
			happened: this.#happened,
		});
		this.scheduler = this.dispatch.scheduler;
	}

	/** Makes a call with one answer. Not an `async` function: the frame of one that waits takes half a kilobyte. */
	execute(
		command: string,
		args: unknown,
		options: ExecuteOptions | undefined,
		session?: Session,
	): Promise<unknown> {
		const work = new UnaryWork();
		try {
			this.submit(command, args, options, work, session);
		} catch (error) {
			return Promise.reject(error);
		}
		return work.answer;
	}

	/** Runs a task with the client of one worker. */
	lease<Result>(
		task: LeaseTask<unknown, Result>,
		options: LeaseOptions,
		session?: Session,
	): Promise<Result> {
		const { promise, resolve } = Promise.withResolvers<unknown>();
		try {
			checkLease(task, options);
			const work = leaseWork(task, resolve);
			this.submit(LEASE, undefined, options, work, session);
		} catch (error) {
			return Promise.reject(error);
		}
		return promise as Promise<Result>;
	}

	/**
	 * Accepts a call, and runs it, lets it wait, or refuses it. One of a program that is about to die never settles.
	 *
	 * @param captured the context of the caller, where it was captured before. It ends with the call.
	 * @throws OptionsError; QueueError `POOL_CLOSED`; WorkerLostError `SESSION_LOST`. Later errors settle `work`.
	 */
	submit(
		command: string,
		args: unknown,
		options: ExecuteOptions | undefined,
		work: Work,
		session?: Session,
		captured?: CallerContext,
	): Call {
		checkCall(command, options);
		const { clock, reports, sessions } = this.#setting;
		if (this.#phase === "closed")
			throw poolClosed(
				this.#pool,
				work.shape === "lease" ? "pool.use" : command,
			);
		if (this.#phase === "open" && session !== undefined) sessions.use(session);
		const nowMs = clock.now();
		const context = captured ?? capturedContext("snakepit.call");
		const call = newCall(
			{ command, args, options, work, session, context },
			++this.#sequence,
			nowMs,
			this.#setting.options,
		);
		if (this.#phase === "dying") {
			call.state = { kind: "settled" };
			return call;
		}
		outbox.enter();
		try {
			this.outstanding.add(call);
			reports.accepted(call, this.scheduler);
			// An instrument may have ended it.
			if (call.state.kind === "settled") return call;
			if (call.signal !== undefined || call.deadlineMs !== undefined)
				watchCall(call, this.#pool, clock, this.#giveUp);
			this.dispatch.seekWorker(call, nowMs);
			return call;
		} finally {
			outbox.leave();
		}
	}

	/** Whether one more call would not be refused for want of room: one to a closed pool is refused for that. */
	get takesOneMore(): boolean {
		return this.#phase !== "open" || this.scheduler.takesOneMore;
	}

	/** The consumer of a stream left before its end. */
	abandon(call: Call): void {
		this.fail([call], () => aborted(this.#pool, call, undefined));
	}

	/** Accepts no more calls. */
	close(): void {
		if (this.#phase === "open") this.#phase = "closed";
	}

	/** Ends these calls; those that run are cancelled on their workers. */
	fail(calls: readonly Call[], errorOf: (call: Call) => SnakepitError): void {
		outbox.during(() => {
			for (const call of calls) this.#giveUp(call, errorOf);
			this.scheduler.noteRoom();
		});
	}

	/** The program is about to die: accepts no more calls, and settles none with an error. */
	die(): void {
		this.#phase = "dying";
	}

	get isDying(): boolean {
		return this.#phase === "dying";
	}

	/** A worker is gone: calls that could run nowhere else are lost. */
	workerGone(worker: Worker): void {
		for (const call of this.scheduler.remove(worker)) {
			const { session } = call;
			if (session !== undefined)
				this.#giveUp(call, () => sessionLost(session, call.attempts));
		}
	}

	/** No worker can be started: every call that waits fails with this error. */
	failWaiting(error: StartError): void {
		this.fail(this.scheduler.loseHope(), (call) => noWorker(error, call));
	}

	/** An attempt is over: answered, failed, or lost with its worker. */
	attemptOver(
		attempt: CallAttempt,
		error: SnakepitError | undefined,
		answer: unknown,
	): void {
		const { clock, reports } = this.#setting;
		const { call, worker } = attempt;
		const nowMs = clock.now();
		const ranMs = attempt.ranMs ?? nowMs - attempt.startedMs;
		const didRun = error?.ran !== "no";
		this.scheduler.prefetch.ended(
			worker,
			call.command,
			didRun ? ranMs : undefined,
		);
		reports.released(attempt, error, ranMs);
		this.outstanding.attemptOver();
		if (error?.ran === "maybe") call.begun++;
		this.#happened(
			call,
			error === undefined
				? { kind: "answered", answer }
				: failedAttempt(call, error, nowMs, this.#setting),
			nowMs,
		);
	}

	now(): number {
		return this.#setting.clock.now();
	}

	attemptBeganEarly(attempt: CallAttempt): void {
		this.dispatch.beginEarly(attempt, this.#setting.clock.now());
	}

	attemptReturned(attempt: CallAttempt): void {
		outbox.during(() => this.dispatch.returned(attempt));
	}

	attemptCancelled({ worker }: CallAttempt): void {
		this.scheduler.withdraw(worker);
	}

	readonly #giveUp: GiveUp = (call, errorOf) =>
		outbox.during(() => {
			this.dispatch.leaveWorker(call);
			const nowMs = this.#setting.clock.now();
			this.#happened(call, { kind: "given_up", error: errorOf(call) }, nowMs);
		});

	/** Carries out what a call does next. */
	readonly #happened = (
		call: Call,
		occurrence: Occurrence<Worker>,
		nowMs: number,
	): void => {
		const step = nextStep(call, occurrence);
		switch (step.kind) {
			case "run":
				this.dispatch.run(call, step.worker, nowMs);
				break;
			case "send_ahead":
				this.dispatch.sendAhead(call, step.worker, nowMs);
				break;
			case "wait":
				this.dispatch.wait(call, nowMs);
				break;
			case "retry":
				this.#setting.reports.retried(call, step.because, step.pauseMs);
				this.dispatch.seekWorkerAfter(step.pauseMs, call, nowMs);
				break;
			case "succeed":
				this.#settle(call, nowMs, undefined, step.answer);
				break;
			case "fail":
				this.#settle(call, nowMs, step.error);
				break;
			case "refuse":
				this.#settle(call, nowMs, this.#refusal(call, step.why));
		}
	};

	#refusal(call: Call, why: "queue_full" | "session_lost"): SnakepitError {
		return why === "session_lost" && call.session !== undefined
			? sessionLost(call.session, call.attempts)
			: queueFull(this.#pool, this.scheduler.waiting, this.outstanding.running);
	}

	/** The one place where a call ends for its caller: one that waits leaves the queue, one that runs is cancelled on its worker. */
	#settle(
		call: Call,
		nowMs: number,
		cause: SnakepitError | undefined,
		answer?: unknown,
	): void {
		const { clock, options, reports, sessions } = this.#setting;
		const { state } = call;
		const error = cause && afterAttempts(cause, call);
		call.state = { kind: "settled" };
		call.unwatch?.();
		if (state.kind === "waiting") {
			state.timer?.cancel();
			this.scheduler.leave(call);
		} else if (state.kind === "pausing") state.timer.cancel();
		else if (state.kind === "running" && error !== undefined)
			state.attempt.cancel(error, options.calls.cancelGraceMs, clock);
		if (call.session !== undefined) sessions.done(call.session);
		reports.settled(call, error, nowMs, state);
		this.outstanding.settled(call);
		if (error === undefined) call.work.succeed(answer);
		else if (this.#phase !== "dying") call.work.fail(error);
		call.context.emitDestroy();
		call.input?.release();
	}
}
