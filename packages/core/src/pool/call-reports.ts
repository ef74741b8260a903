import type { SnakepitError } from "../errors.ts";
import type { SnakepitEvent } from "../events.ts";
import type { CallOutcome } from "../pool-events.ts";
import type { Clock } from "../world.ts";
import type { Call } from "./call.ts";
import type { CallAttempt } from "./call-attempt.ts";
import type { Instrumentation } from "./instrumentation.ts";
import type { StatisticsKeeper } from "./statistics.ts";

export interface CallReportsSetting {
	readonly pool: string;
	readonly clock: Clock;
	readonly emit: (event: SnakepitEvent) => void;
	readonly statistics: StatisticsKeeper;
	/** `undefined` when the pool has no instruments. */
	readonly instrumentation: Instrumentation | undefined;
}

/** What is reported of each call: to instruments, statistics and listeners, in this order. */
export class CallReports {
	readonly #setting: CallReportsSetting;

	constructor(setting: CallReportsSetting) {
		this.#setting = setting;
	}

	/** In the asynchronous context of the caller. @param queued how many calls wait before it. */
	accepted(call: Call, queued: number): void {
		const { pool, clock, emit, statistics, instrumentation } = this.#setting;
		call.instrument = instrumentation?.accept(call);
		statistics.accepted++;
		emit({
			type: "call.accepted",
			wallMs: clock.wall(),
			pool,
			callId: call.callId,
			command: call.command,
			queued,
		});
	}

	dispatched(attempt: CallAttempt, waitedMs: number): void {
		const { clock, emit, statistics } = this.#setting;
		const { call, number, worker } = attempt;
		statistics.queueWait.record(waitedMs);
		attempt.instrument = call.instrument?.dispatched({
			...worker.ref,
			attempt: number,
			pid: worker.pid,
		});
		emit({
			...worker.ref,
			type: "call.dispatched",
			wallMs: clock.wall(),
			callId: call.callId,
			command: call.command,
			attempt: number,
			waitedMs,
		});
	}

	/** The worker's slot is free, or the worker is gone. */
	released(
		{ call, instrument, number, startedMs, worker }: CallAttempt,
		error: SnakepitError | undefined,
		nowMs: number,
	): void {
		const { clock, emit, statistics } = this.#setting;
		const ranMs = nowMs - startedMs;
		statistics.run.record(ranMs);
		emit({
			...worker.ref,
			type: "call.released",
			wallMs: clock.wall(),
			callId: call.callId,
			command: call.command,
			attempt: number,
			ranMs,
		});
		instrument?.released(error);
	}

	retried(call: Call, because: SnakepitError): void {
		const { pool, clock, emit } = this.#setting;
		emit({
			type: "call.retried",
			wallMs: clock.wall(),
			pool,
			callId: call.callId,
			command: call.command,
			attempt: call.attempts,
			because: because.code,
		});
		call.instrument?.retried(because);
	}

	settled(call: Call, error: SnakepitError | undefined, nowMs: number): void {
		const { pool, clock, emit, statistics } = this.#setting;
		const totalMs = nowMs - call.acceptedMs;
		const outcome = outcomeOf(error);
		statistics.outcomes[outcome]++;
		statistics.total.record(totalMs);
		call.instrument?.settled(error);
		emit({
			type: "call.settled",
			wallMs: clock.wall(),
			pool,
			callId: call.callId,
			command: call.command,
			outcome,
			code: error?.code,
			attempts: call.attempts,
			totalMs,
		});
	}
}

function outcomeOf(error: SnakepitError | undefined): CallOutcome {
	switch (error?.code) {
		case undefined:
			return "succeeded";
		case "CALL_ABORTED":
			return "aborted";
		case "CALL_TIMEOUT":
		case "QUEUE_TIMEOUT":
			return "timed_out";
		default:
			return "failed";
	}
}
