import type { Clock } from "../../contract/clock.ts";
import type { ErrorCode } from "../../contract/error-codes.ts";
import { type SnakepitError, ToolError } from "../../contract/errors.ts";
import type {
	AttemptDetails,
	CallOutcome,
	EventOf,
} from "../../contract/events.ts";
import { shortened } from "../../contract/shortened.ts";
import type { ObserveOptions } from "../../options/pool-options.ts";
import type { Call } from "../calls/call.ts";
import type { CallAttempt } from "../calls/call-attempt.ts";
import type { Retry } from "../calls/call-states.ts";
import { ProgressReports } from "../calls/progress-reports.ts";
import type { EventHub } from "./event-hub.ts";
import type { Instrumentation } from "./instrumentation.ts";
import type { StatisticsKeeper } from "./statistics.ts";

/** Records the calls that fail, as the ledger of the run does. Its functions never throw. */
export interface FailedCallRecorder {
	/** Counts a call that has failed. Returns whether its event is wanted. */
	countFailedCall(pool: string, command: string, code: ErrorCode): boolean;
	/** Records it. */
	keepFailedCall(call: EventOf<"call.settled">): void;
}

interface CallReportsDependencies {
	readonly pool: string;
	readonly clock: Clock;
	readonly hub: EventHub;
	readonly statistics: StatisticsKeeper;
	/** `observe.args` */
	readonly redact: ObserveOptions["args"];
	/** `undefined` when the pool has no instruments. */
	readonly instrumentation: Instrumentation | undefined;
	/** `undefined` where nothing records failed calls. */
	readonly failedCalls: FailedCallRecorder | undefined;
}

/**
 * What is reported of each call, within the transition that it reports: to statistics and instruments immediately, and to
 * listeners when the transition is complete. What instruments do in the middle of it is reported after it.
 */
export class CallReports {
	readonly #dependencies: CallReportsDependencies;
	/** Of calls that somebody has looked at while they ran: `observe.args` is called once for a call. */
	readonly #looked = new WeakMap<Call, LookedArgs>();

	constructor(dependencies: CallReportsDependencies) {
		this.#dependencies = dependencies;
	}

	/** In the asynchronous context of the caller. @param line the calls that wait before it. */
	accepted(call: Call, line: { readonly waiting: number }): void {
		const { pool, clock, hub, statistics, instrumentation } =
			this.#dependencies;
		statistics.accepted++;
		if (hub.wanted.accepted)
			hub.emit({
				type: "call.accepted",
				wallMs: clock.wall(),
				pool,
				callId: call.callId,
				command: call.command,
				queued: line.waiting,
			});
		call.instrument = instrumentation?.accept(call);
		const { onProgress, context } = call;
		if (onProgress !== undefined)
			call.progress = new ProgressReports(clock, (progress) =>
				this.guard("onProgress", () =>
					context.runInAsyncScope(onProgress, undefined, progress),
				),
			);
	}

	dispatched(attempt: CallAttempt, waitedMs: number): void {
		const { clock, hub, statistics, instrumentation } = this.#dependencies;
		const { call, number, worker } = attempt;
		statistics.queueWait.record(waitedMs);
		instrumentation?.dispatched(call, waitedMs);
		attempt.waitedMs = waitedMs;
		if (hub.wanted.dispatched)
			hub.emit({
				...worker.ref,
				type: "call.dispatched",
				wallMs: clock.wall(),
				callId: call.callId,
				command: call.command,
				attempt: number,
				waitedMs,
			});
		attempt.instrument = call.instrument?.dispatched({
			...worker.ref,
			attempt: number,
			prefetched: attempt.sent === "prefetched",
			pid: worker.pid,
		});
	}

	/**
	 * The worker's slot is free, or the worker is gone.
	 *
	 * @param ranMs `undefined` if the worker did not begin the attempt: then it is no run to be measured.
	 */
	released(
		attempt: CallAttempt,
		error: SnakepitError | undefined,
		ranMs: number | undefined,
	): void {
		const { call, instrument, number, worker } = attempt;
		const { clock, hub, statistics, instrumentation } = this.#dependencies;
		if (ranMs !== undefined) {
			statistics.run.record(ranMs);
			if (error === undefined || error instanceof ToolError)
				statistics.usual.note(call.command, ranMs);
			instrumentation?.released(call, ranMs);
		}
		if (hub.wanted.released)
			hub.emit({
				...worker.ref,
				type: "call.released",
				wallMs: clock.wall(),
				callId: call.callId,
				command: call.command,
				attempt: number,
				ranMs: ranMs ?? 0,
			});
		instrument?.released(error, attempt.ran);
	}

	retried(
		attempt: CallAttempt,
		{ because, pauseMs }: Retry,
		nowMs: number,
	): void {
		const { pool, clock, hub } = this.#dependencies;
		const { call } = attempt;
		keepRetried(attempt, because.code, pauseMs, nowMs);
		hub.emit({
			type: "call.retried",
			wallMs: clock.wall(),
			pool,
			callId: call.callId,
			command: call.command,
			attempt: call.attempts,
			because: because.code,
			pauseMs,
		});
		call.instrument?.retried(because);
		call.progress?.retried();
	}

	/** @param attempt the one that ran until now. */
	settled(
		call: Call,
		error: SnakepitError | undefined,
		nowMs: number,
		attempt: CallAttempt | undefined,
	): void {
		const { pool, hub, statistics, instrumentation } = this.#dependencies;
		call.progress?.end(error === undefined ? "succeeded" : "failed");
		const totalMs = nowMs - call.acceptedMs;
		const outcome = error === undefined ? "succeeded" : outcomeOf(error);
		statistics.recent.ends(nowMs);
		statistics.outcomes[outcome]++;
		statistics.total.record(totalMs);
		if (error !== undefined) {
			statistics.failures.record(outcome, error.code, totalMs);
			statistics.recent.failed(call.command, error, outcome);
		}
		instrumentation?.settled(call, outcome, error?.code, totalMs);
		const isHeard =
			hub.wanted.settled && hub.wantsEnd(pool, call.command, outcome, totalMs);
		const isKept =
			error !== undefined && this.#countsFailed(call, error, outcome);
		const isFollowed = error !== undefined && call.instrument !== undefined;
		const args =
			isHeard || isKept || isFollowed ? this.#argsOf(call) : undefined;
		call.instrument?.settled(error, error && args);
		if (!isHeard && !isKept) return;
		const event = this.#settledEvent(call, error, nowMs, attempt, args);
		if (isKept) this.#dependencies.failedCalls?.keepFailedCall(event);
		if (isHeard) hub.emit(event);
	}

	/** Returns whether a failed call is to be recorded. One that its caller gave up is none. */
	#countsFailed(
		{ command }: Call,
		{ code }: SnakepitError,
		outcome: CallOutcome,
	): boolean {
		const { pool, failedCalls } = this.#dependencies;
		return (
			outcome !== "aborted" &&
			failedCalls?.countFailedCall(pool, command, code) === true
		);
	}

	#settledEvent(
		call: Call,
		error: SnakepitError | undefined,
		nowMs: number,
		attempt: CallAttempt | undefined,
		args: unknown,
	): EventOf<"call.settled"> {
		const { pool, clock } = this.#dependencies;
		return {
			type: "call.settled",
			wallMs: clock.wall(),
			pool,
			callId: call.callId,
			command: call.command,
			outcome: error === undefined ? "succeeded" : outcomeOf(error),
			code: error?.code,
			message: error?.message,
			ran: error?.ran,
			remote: error instanceof ToolError ? error.remote : undefined,
			args,
			attempts: call.attempts,
			attemptDetails: attemptsOf(call, attempt, error?.code, nowMs),
			traceId: traceIdOf(call),
			totalMs: nowMs - call.acceptedMs,
		};
	}

	/** What those who look at the run may see of the arguments of a call; `undefined` if nothing. */
	shownArgs(call: Call): unknown {
		if (this.#dependencies.redact === undefined) return undefined;
		let looked = this.#looked.get(call);
		if (looked === undefined) {
			const args = this.#argsOf(call);
			const short = args === undefined ? undefined : shortened(args);
			looked = { args, short };
			this.#looked.set(call, looked);
		}
		return looked.short;
	}

	/** What listeners, instruments and the ledger may see of the arguments of a call. */
	#argsOf(call: Call): unknown {
		const { redact } = this.#dependencies;
		if (redact === undefined) return undefined;
		const looked = this.#looked.get(call);
		if (looked !== undefined) return looked.args;
		const { command, args } = call;
		return this.guard("observe.args", () => redact(command, args));
	}

	/** Runs code of the caller; `undefined` when it throws, which is reported. */
	guard<Value>(of: string, run: () => Value): Value | undefined {
		try {
			return run();
		} catch (error) {
			const { clock, hub } = this.#dependencies;
			hub.emit({ type: "listener.threw", wallMs: clock.wall(), of, error });
			return undefined;
		}
	}
}

interface LookedArgs {
	readonly args: unknown;
	/** The same, short enough to be sent twice a second. */
	readonly short: unknown;
}

function outcomeOf(error: SnakepitError): CallOutcome {
	switch (error.code) {
		case "CALL_ABORTED":
			return "aborted";
		case "CALL_TIMEOUT":
		case "QUEUE_TIMEOUT":
			return "timed_out";
		default:
			return "failed";
	}
}

/** A call may be tried any number of times. */
const KEPT = 20;

/** Keeps the details of an attempt that failed, of a call that is made again. */
function keepRetried(
	attempt: CallAttempt,
	code: ErrorCode,
	pauseMs: number,
	nowMs: number,
): void {
	const { call } = attempt;
	call.retried ??= [];
	if (call.retried.length === KEPT) call.retried.shift();
	const details = detailsOf(attempt, code, pauseMs, nowMs);
	call.retried.push({ ...details, code, pauseMs });
}

/**
 * The attempts of a call that has ended, in their order.
 *
 * @param attempt the one that ran when it ended.
 * @param code of its error.
 */
function attemptsOf(
	{ retried = [] }: Call,
	attempt: CallAttempt | undefined,
	code: ErrorCode | undefined,
	nowMs: number,
): readonly AttemptDetails[] {
	return attempt === undefined
		? retried
		: [...retried, detailsOf(attempt, code, undefined, nowMs)].slice(-KEPT);
}

function detailsOf(
	{ worker, waitedMs, ranMs, startedMs }: CallAttempt,
	code: ErrorCode | undefined,
	pauseMs: number | undefined,
	nowMs: number,
): AttemptDetails {
	const { workerId, incarnation } = worker.ref;
	return {
		...{ workerId, incarnation, waitedMs, code, pauseMs },
		ranMs: ranMs ?? nowMs - startedMs,
	};
}

/** A W3C `traceparent`: version, trace, span, flags. A trace of zeros is invalid. */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-/;

/** The trace that a call is part of: as an instrument knows it, or else its caller. */
function traceIdOf({
	instrument,
	traceContext,
}: Pick<Call, "instrument" | "traceContext">): string | undefined {
	return (
		instrument?.traceId ??
		TRACEPARENT.exec(traceContext["traceparent"] ?? "")?.[1]
	);
}
