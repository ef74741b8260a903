import { AsyncResource } from "node:async_hooks";
import type { Clock, Random, Timer } from "../../contract/clock.ts";
import {
	OptionsError,
	type SnakepitError,
	type StartError,
	ToolError,
} from "../../contract/errors.ts";
import { failing } from "../../contract/thrown.ts";
import type { ProcessHost } from "../../contract/world.ts";
import { afterRunning } from "../../deadline.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import { outbox } from "../../outbox.ts";
import type { Conduct } from "../../worker/running-calls.ts";
import type { Worker } from "../../worker/worker.ts";
import type { CallReports } from "../observe/call-reports.ts";
import { DispatchPace } from "../placement/dispatch-pace.ts";
import { Placement } from "../placement/placement.ts";
import { SLOW_HEAD_MS } from "../placement/prefetch-windows.ts";
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
	type CallState,
	ENDED_BY_OWNER,
	newCall,
	type Work,
} from "./call.ts";
import { type AttemptListener, CallAttempt } from "./call-attempt.ts";
import {
	aborted,
	afterAttempts,
	named,
	noWorker,
	poolClosed,
	queueFull,
	queueTimedOut,
	timedOut,
} from "./call-errors.ts";
import { checkCall, type ExecuteOptions } from "./call-options.ts";
import { type CallStep, type CallTrigger, stepCall } from "./call-states.ts";
import { OutstandingCalls } from "./outstanding-calls.ts";

interface CallsDependencies {
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
	/** Has a worker replaced if it is worn. */
	readonly replaceIfWorn: (worker: Worker) => void;
}

type Trigger = CallTrigger<Worker>;
/** Makes the error of a call, when it is known whether the call has begun. */
type ErrorOf = (call: Call) => SnakepitError;

const BEGAN = { kind: "began" } as const;
const RECALLED = { kind: "recalled" } as const;
const PAUSED_ENOUGH = { kind: "paused_enough" } as const;
const SETTLED: CallState = { kind: "settled" };

/** For a call that is not sent in the moment in which that was decided. */
const sendLater = (attempt: CallAttempt): void => attempt.sendLater();

/**
 * The calls of one pool, each from its acceptance to its one settlement. `stepCall` decides what happens to a call,
 * `Placement` on which worker it runs; here is the loop that carries it out.
 */
export class Calls implements AttemptListener {
	/** Those that are not settled. */
	readonly outstanding: OutstandingCalls;
	/** Knows which calls wait, and which workers have room. */
	readonly placement: Placement;
	readonly #dependencies: CallsDependencies;
	readonly #pool: string;
	#sequence = 0;
	/** Looks for workers that have run one call for too long, while calls wait behind one. */
	#slowTimer: Timer | undefined;
	/** `"dying"`: the program ends, and an uncaught error would end it first. */
	#phase: "open" | "closed" | "dying" = "open";

	constructor(dependencies: CallsDependencies) {
		const { options, size, clock, host, dispatchesAtOnce } = dependencies;
		this.#dependencies = dependencies;
		this.#pool = options.name;
		this.outstanding = new OutstandingCalls(host, clock);
		this.placement = new Placement(
			options,
			size,
			new DispatchPace(clock, dispatchesAtOnce, (worker) => this.serve(worker)),
		);
	}

	/** Makes a call with one answer. Not an `async` function: the frame of one that waits takes half a kilobyte. */
	execute(
		command: string,
		args: unknown,
		options: ExecuteOptions | undefined,
		session?: Session,
	): Promise<unknown> {
		const { promise, resolve } = Promise.withResolvers<unknown>();
		try {
			const work: Work = { shape: "unary", begun: false, succeed: resolve };
			this.submit(command, args, options, work, session);
		} catch (error) {
			return Promise.reject(error);
		}
		return promise;
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
		const { clock, reports, sessions } = this.#dependencies;
		if (this.#phase === "closed")
			throw poolClosed(
				this.#pool,
				work.shape === "lease" ? "pool.use" : command,
			);
		if (this.#phase === "open" && session !== undefined) sessions.use(session);
		const nowMs = clock.now();
		const context =
			captured ?? new AsyncResource("snakepit.call", ENDED_BY_OWNER);
		const call = newCall(
			{ command, args, options, work, session, context },
			++this.#sequence,
			nowMs,
			this.#dependencies.options,
		);
		if (this.#phase === "dying") {
			call.state = SETTLED;
			return call;
		}
		outbox.enter();
		try {
			this.outstanding.add(call);
			reports.accepted(call, this.placement);
			// An instrument may have ended it.
			if (call.state.kind === "settled") return call;
			if (call.signal !== undefined || call.deadlineMs !== undefined)
				this.#watch(call);
			this.advance(call, this.placement.place(call, "new"), nowMs);
			return call;
		} finally {
			outbox.leave();
		}
	}

	/** Whether one more call would not be refused for want of room: one to a closed pool is refused for that. */
	get acceptsOneMore(): boolean {
		return this.#phase !== "open" || this.placement.acceptsOneMore;
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
	fail(calls: readonly Call[], errorOf: ErrorOf): void {
		outbox.during(() => {
			for (const call of calls) this.#giveUp(call, errorOf);
			this.placement.noteRoom();
		});
	}

	/** The program is about to die: accepts no more calls, and settles none with an error. */
	die(): void {
		this.#phase = "dying";
	}

	get isDying(): boolean {
		return this.#phase === "dying";
	}

	/** Calls wait from now on, also those that are prefetched; what runs goes on. */
	pause(): void {
		for (const worker of this.placement.pause()) this.#recall(worker);
	}

	resume(): void {
		for (const worker of this.placement.resume()) this.serve(worker);
		this.#dependencies.fill();
	}

	/** No worker can be started: every call that waits fails with this error. */
	failWaiting(error: StartError): void {
		this.fail(this.placement.noteCannotStart(), (call) =>
			noWorker(error, call),
		);
	}

	// What workers report:

	/** Gives a worker what waits for it, as far as it has room and the pace allows. */
	serve(worker: Worker): void {
		const { clock, options, replaceIfWorn } = this.#dependencies;
		const { placement } = this;
		if (placement.prefetch.size > 0 && worker.calls.attempts.length === 0) {
			const next = placement.prefetch.first(worker);
			if (next !== undefined) this.advance(next.call, BEGAN, clock.now());
		}
		for (;;) {
			const call = placement.callFor(worker);
			if (call === undefined) break;
			this.advance(call, { kind: "placed", worker }, clock.now());
		}
		while (placement.queue.size > 0) {
			const call = placement.callToPrefetch(worker);
			if (call === undefined) break;
			this.advance(call, { kind: "prefetchable", worker }, clock.now());
		}
		if (placement.prefetch.size > 0 && worker.hasCapacity) {
			const busy = placement.prefetch.worthMoving();
			if (busy !== undefined) this.#recall(busy);
		}
		const { taken, cancelledInRow } = worker.calls;
		if (taken >= options.recycle.afterCalls || cancelledInRow > 0)
			replaceIfWorn(worker);
	}

	/** A worker takes no more calls, or none for now. */
	withdraw(worker: Worker): void {
		this.placement.withdraw(worker);
		this.#recall(worker);
	}

	/** From now on this worker takes only the calls of sessions that are bound to it. */
	reserveForSessions(worker: Worker): void {
		this.placement.reserveForSessions(worker);
		this.#recall(worker);
	}

	/** A worker is gone: calls that could run nowhere else are lost. */
	workerGone(worker: Worker): void {
		for (const call of this.placement.remove(worker)) {
			const { session } = call;
			if (session !== undefined)
				this.#giveUp(call, () => sessionLost(session, call.attempts));
		}
	}

	now(): number {
		return this.#dependencies.clock.now();
	}

	shownArgs(call: Call): unknown {
		return this.#dependencies.reports.shownArgs(call);
	}

	// The machine:

	/** Takes a call to its next state, and then carries out what that causes, which may take it further. */
	advance(
		call: Call,
		trigger: Trigger,
		nowMs: number = this.#dependencies.clock.now(),
	): void {
		const step = stepCall(call, trigger);
		if (step === undefined) return;
		const before = call.state;
		const attempt =
			trigger.kind === "placed" || trigger.kind === "prefetchable"
				? new CallAttempt(call, trigger.worker, nowMs, this)
				: before.attempt;
		const error =
			step.error === undefined && step.refusal === undefined
				? undefined
				: this.#errorOf(call, step);
		call.state = stateAfter(before, step.to, attempt, error, nowMs);
		// The most frequent ones come first.
		for (const effect of step.effects)
			switch (effect) {
				case "begin":
					if (attempt !== undefined) this.#begin(attempt, before, nowMs);
					break;
				case "send":
					if (attempt === undefined) break;
					// After the event of its dispatch: a listener may end the call before it leaves this program.
					if (outbox.size === 0) void attempt.send();
					else outbox.post(sendLater, attempt);
					break;
				case "release":
					if (attempt !== undefined)
						this.#release(attempt, trigger, before, nowMs);
					break;
				case "settle": {
					const answer =
						trigger.kind === "answered" ? trigger.answer : undefined;
					this.#settle(call, before, error, answer, nowMs);
					break;
				}
				case "free_worker": {
					const conduct =
						trigger.kind === "answered"
							? "answered"
							: conductOf(call, trigger, before);
					// A worker that is gone has forgotten it already.
					if (attempt?.worker.finish(attempt, conduct))
						this.serve(attempt.worker);
					break;
				}
				case "prefetch":
					if (attempt !== undefined) this.#prefetch(attempt);
					break;
				case "count_recall":
					call.timesRecalled++;
					if (attempt !== undefined) this.placement.prefetch.remove(attempt);
					break;
				case "queue":
					this.#queue(call);
					break;
				case "leave_queue":
					this.placement.leave(call);
					break;
				case "seek_worker":
					this.#seekWorker(call, nowMs);
					break;
				case "start_pause":
					this.#pause(call, step.retry?.pauseMs ?? 0);
					break;
				case "cancel":
					if (attempt !== undefined) this.#cancel(attempt);
					break;
				case "judge":
					if (trigger.kind === "failed")
						this.#judge(call, trigger.error, nowMs);
					break;
				case "report_retry":
					if (attempt !== undefined && step.retry !== undefined)
						this.#dependencies.reports.retried(attempt, step.retry, nowMs);
			}
	}

	/** With which a step settles the call. */
	#errorOf(
		call: Call,
		{ error, refusal }: CallStep,
	): SnakepitError | undefined {
		if (refusal === undefined) return error && afterAttempts(error, call);
		const refused =
			refusal === "session_lost" && call.session !== undefined
				? sessionLost(call.session, call.attempts)
				: queueFull(
						this.#pool,
						this.placement.waiting,
						this.outstanding.running,
					);
		return afterAttempts(refused, call);
	}

	/** Again, for a call that was accepted before. */
	#seekWorker(call: Call, nowMs: number): void {
		// What reported the end of its attempt may have ended the call, too.
		if (call.state.kind === "waiting")
			this.advance(call, this.placement.place(call, "accepted"), nowMs);
	}

	/** The worker runs the call from now on, as far as is known here. */
	#begin(attempt: CallAttempt, before: CallState, nowMs: number): void {
		const { reports, sessions } = this.#dependencies;
		const { call, worker } = attempt;
		let waitedMs = 0;
		if (before.kind === "waiting" || before.kind === "prefetched") {
			before.timer?.cancel();
			waitedMs = nowMs - before.sinceMs;
		}
		if (before.kind === "prefetched") this.placement.prefetch.remove(attempt);
		attempt.number = ++call.attempts;
		attempt.startedMs = nowMs;
		if (call.session !== undefined)
			sessions.bind(call.session, worker.ref.incarnation);
		worker.calls.add(attempt);
		this.outstanding.running++;
		this.placement.began(worker);
		reports.dispatched(attempt, waitedMs);
	}

	/** The call waits on, in the worker. */
	#prefetch(attempt: CallAttempt): void {
		this.#limitWait(attempt.call);
		this.placement.prefetch.add(attempt);
		this.#watchSlow();
		this.#dependencies.fill();
	}

	#queue(call: Call): void {
		this.#limitWait(call);
		this.placement.wait(call);
		call.instrument?.queued();
		const worker = this.placement.heldBackBy(call);
		if (worker !== undefined) this.#recall(worker);
		this.#dependencies.fill();
	}

	/** Ends a wait that takes too long. One that was limited before goes on. */
	#limitWait(call: Call): void {
		const { state, queueTimeoutMs } = call;
		if (state.kind !== "waiting" && state.kind !== "prefetched") return;
		if (state.timer !== undefined || !Number.isFinite(queueTimeoutMs)) return;
		state.timer = this.#dependencies.clock.after(queueTimeoutMs, () => {
			this.#leaveWorker(call);
			// It has just begun: the wait is over.
			if (call.state.kind === "running") return;
			this.#giveUp(call, () =>
				queueTimedOut(this.#pool, call, this.placement.waiting),
			);
		});
	}

	#pause(call: Call, pauseMs: number): void {
		const { clock } = this.#dependencies;
		// What reported the retry may have ended it.
		if (call.state.kind !== "pausing") return;
		call.state.timer = clock.after(pauseMs, () =>
			this.advance(call, PAUSED_ENOUGH, clock.now()),
		);
	}

	/** Its worker gets a grace to finish, and takes no calls meanwhile; then it is replaced. */
	#cancel({ call, worker }: CallAttempt): void {
		const { clock, options } = this.#dependencies;
		const { cancelGraceMs } = options.calls;
		const { state } = call;
		if (state.kind !== "cancelling") return;
		const { attempt, reason } = state;
		state.grace = afterRunning(clock, cancelGraceMs, () =>
			worker.condemn(
				"stuck",
				`${named(call)} did not finish within ${cancelGraceMs} ms after it was cancelled (calls.cancelGraceMs)`,
			),
		);
		worker.calls.cancelled++;
		this.withdraw(worker);
		attempt.cancel(reason);
	}

	/** An attempt is over: answered, failed, lost with its worker, or never begun. */
	#release(
		attempt: CallAttempt,
		trigger: Trigger,
		before: CallState,
		nowMs: number,
	): void {
		const { call, worker } = attempt;
		const error = trigger.kind === "failed" ? trigger.error : undefined;
		if (before.kind === "cancelling" && before.grace !== undefined) {
			before.grace.cancel();
			worker.calls.cancelled--;
		}
		let ranMs: number | undefined;
		if (trigger.kind === "recall_confirmed") {
			// It is made again, which is no other attempt; of one that was given up there is nothing to repeat.
			if (call.state.kind === "waiting") call.attempts--;
		} else {
			// An adapter may have written anything: what is no duration is as if it had not been measured.
			const { ranMs: measuredMs = -1 } = attempt;
			if (measuredMs >= 0 && measuredMs < Infinity) ranMs = measuredMs;
			else {
				attempt.ranMs = undefined;
				ranMs = nowMs - attempt.startedMs;
			}
			this.placement.prefetch.ended(
				worker,
				call.command,
				error?.ran === "no" ? undefined : ranMs,
			);
		}
		this.#dependencies.reports.released(attempt, error, ranMs);
		this.outstanding.attemptOver();
	}

	/** Asks the caller, and chance, whether a failed call is made again; only where it may be. */
	#judge(call: Call, error: SnakepitError, nowMs: number): void {
		const { random, reports } = this.#dependencies;
		if (error.ran === "maybe") call.begun++;
		const { retry } = call;
		const on = error instanceof ToolError ? retry?.on : undefined;
		const answer: unknown =
			on && reports.guard("retry.on", () => on(error as ToolError));
		const judged = {
			kind: "judged",
			error: answer instanceof Promise ? undecided(call, error, answer) : error,
			nowMs,
			byCaller: answer === true ? "accepted" : "not accepted",
			fraction: retry?.backoffMs ? random.fraction() : 0,
		} as const;
		this.advance(call, judged, nowMs);
	}

	/** The one place where a call ends for its caller. */
	#settle(
		call: Call,
		before: CallState,
		error: SnakepitError | undefined,
		answer: unknown,
		nowMs: number,
	): void {
		const { reports, sessions } = this.#dependencies;
		call.unwatch?.();
		if (before.kind === "waiting" || before.kind === "pausing")
			before.timer?.cancel();
		if (call.session !== undefined) sessions.done(call.session);
		reports.settled(call, error, nowMs, before.attempt);
		this.outstanding.settled(call);
		const { work } = call;
		if (error === undefined) work.succeed(answer);
		else if (this.#phase !== "dying") {
			// A promise that rejects by itself would end a program whose caller is gone: this one rejects when it is awaited.
			if (work.shape === "unary") work.succeed(failing(error));
			else work.fail(error);
		}
		call.context.emitDestroy();
		call.input?.release();
	}

	// What ends a call before its answer:

	/** Gives a call up at its abort or its deadline, until `call.unwatch`; now, if it is aborted already. */
	#watch(call: Call): void {
		const { signal, deadlineMs } = call;
		const { clock } = this.#dependencies;
		const pool = this.#pool;
		const onAbort = (): void =>
			this.#giveUp(call, () => aborted(pool, call, signal?.reason));
		if (signal?.aborted === true) {
			onAbort();
			return;
		}
		signal?.addEventListener("abort", onAbort, { once: true });
		const timer =
			deadlineMs === undefined
				? undefined
				: clock.after(Math.max(0, deadlineMs - clock.now()), () =>
						this.#giveUp(call, () => timedOut(pool, call, clock.now())),
					);
		call.unwatch = () => {
			signal?.removeEventListener("abort", onAbort);
			timer?.cancel();
		};
	}

	#giveUp(call: Call, errorOf: ErrorOf): void {
		outbox.during(() => {
			this.#leaveWorker(call);
			const nowMs = this.now();
			this.advance(call, { kind: "given_up", error: errorOf(call) }, nowMs);
		});
	}

	/** A call is about to end: if it is prefetched, it is recalled, or has begun. */
	#leaveWorker(call: Call): void {
		if (call.state.kind !== "prefetched") return;
		this.#recall(call.state.attempt.worker, call);
		// Within a recall from its worker: whether it began is not known yet.
		this.advance(call, BEGAN, this.now());
	}

	/**
	 * Recalls what a worker has prefetched: what has not begun goes back to its place in the queue, and the rest runs
	 * from now on.
	 *
	 * @param ended a call that is about to end, and does not go back.
	 */
	#recall(worker: Worker, ended?: Call): void {
		const attempts = this.placement.prefetch.clear(worker);
		if (attempts.length === 0) return;
		const first = attempts.find(({ sent }) => sent !== "no");
		const unbegun = first && worker.connection?.prefetch?.recall(first.callId);
		const nowMs = this.now();
		const waiting: Call[] = [];
		// First all that did not begin: listeners of the others may end them.
		for (const { call, sent } of attempts)
			if (sent === "no" || unbegun?.has(call.callId)) {
				this.advance(call, RECALLED, nowMs);
				if (call !== ended) waiting.push(call);
			}
		for (const attempt of attempts)
			if (!attempt.isOver) this.advance(attempt.call, BEGAN, nowMs);
		for (const call of waiting) this.#seekWorker(call, nowMs);
	}

	#watchSlow(): void {
		const { clock } = this.#dependencies;
		this.#slowTimer ??= clock.after(SLOW_HEAD_MS, () => {
			this.#slowTimer = undefined;
			const { prefetch } = this.placement;
			for (const worker of prefetch.slow(clock.now())) this.#recall(worker);
			if (prefetch.size > 0) this.#watchSlow();
		});
	}
}

/** What a call keeps in its next state. */
function stateAfter(
	before: CallState,
	to: CallState["kind"],
	attempt: CallAttempt | undefined,
	error: SnakepitError | undefined,
	nowMs: number,
): CallState {
	if (to === "settled") return SETTLED;
	if (attempt !== undefined) {
		if (to === "running" || to === "unanswerable" || to === "failing")
			return { kind: to, attempt };
		if (to === "cancelling" && error !== undefined)
			return { kind: to, attempt, reason: error, grace: undefined };
	}
	if (to === "pausing") return { kind: to, timer: undefined };
	const isWait = before.kind === "waiting" || before.kind === "prefetched";
	const timer = isWait ? before.timer : undefined;
	const sinceMs = isWait ? before.sinceMs : nowMs;
	return to === "prefetched" && attempt !== undefined
		? { kind: to, sinceMs, timer, attempt }
		: { kind: "waiting", sinceMs, timer };
}

/** A command that fails says nothing about its worker: it may fail before it needs what is stuck there. */
function conductOf(call: Call, trigger: Trigger, before: CallState): Conduct {
	if (trigger.kind !== "failed") return "unknown";
	if (call.work.begun) return "answered";
	const wasCancelled =
		before.kind === "cancelling" && before.grace !== undefined;
	return wasCancelled && trigger.error.ran !== "no" ? "cancelled" : "unknown";
}

/** A promise is no decision: as one it would be as good as `true`, or as `false`. */
function undecided(
	{ callId, command }: Call,
	error: SnakepitError,
	answer: Promise<unknown>,
): OptionsError {
	answer.catch(() => {}); // Nobody else waits for it.
	return new OptionsError({
		code: "INVALID_OPTION",
		ran: error.ran,
		message: `Call ${callId} (${command}) failed, and "on" of its retry returned a promise, so it was not retried. It must return true or false synchronously. The failure was: ${error.message}`,
		cause: error,
	});
}
