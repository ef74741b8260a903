import { OptionsError, type SnakepitError } from "../errors.ts";
import type { SnakepitEvent } from "../events.ts";
import { nonEmptyText, show } from "../option-check.ts";
import type { ResolvedOptions } from "../options.ts";
import type { CallOutcome } from "../pool-events.ts";
import type { Clock, ProcessHost } from "../world.ts";
import type { Call } from "./call.ts";
import { poolClosed } from "./call-errors.ts";
import { CallInput } from "./call-input.ts";
import {
	checkExecuteOptions,
	EXECUTE_DEFAULTS,
	type ExecuteOptions,
} from "./call-options.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Instrumentation } from "./instrumentation.ts";
import { NOWHERE } from "./priority-queue.ts";
import type { Session, SessionTable } from "./session-table.ts";
import type { StatisticsKeeper } from "./statistics.ts";
import { captureContext, type Work } from "./work.ts";

export interface CallIntakeSetting {
	readonly pool: string;
	readonly options: ResolvedOptions;
	readonly clock: Clock;
	readonly host: ProcessHost;
	readonly emit: (event: SnakepitEvent) => void;
	readonly sessions: SessionTable;
	readonly statistics: StatisticsKeeper;
	readonly dispatcher: () => Dispatcher;
	/** `undefined` when nobody follows the pool. */
	readonly instrumentation: Instrumentation | undefined;
}

/**
 * The calls that callers wait for: checked at the door, accepted once, settled
 * once. While there is one, the program stays open.
 */
export class CallIntake {
	readonly #setting: CallIntakeSetting;
	readonly #outstanding = new Set<Call>();
	#sequence = 0;
	#letGo: (() => void) | undefined;
	#onEmpty: (() => void) | undefined;
	#door: "open" | "closed" = "open";

	constructor(setting: CallIntakeSetting) {
		this.#setting = setting;
	}

	get outstanding(): ReadonlySet<Call> {
		return this.#outstanding;
	}

	/** Takes no more calls. */
	closeDoor(): void {
		this.#door = "closed";
	}

	/** Whether one more call would not be refused for want of room: one to a closed pool is refused for that. */
	takesOneMore(): boolean {
		return this.#door === "closed" || this.#setting.dispatcher().takesOneMore;
	}

	/**
	 * Takes one call. One of a program that is about to die is never heard of again.
	 *
	 * @throws OptionsError; QueueError `POOL_CLOSED`; WorkerLostError `SESSION_LOST`. Everything later is told by `work`.
	 */
	submit(
		command: string,
		args: unknown,
		options: ExecuteOptions,
		work: Work,
		session: Session | undefined,
	): Call {
		const { pool, clock, host, emit } = this.#setting;
		const wrong = nonEmptyText(command);
		if (wrong !== undefined) {
			throw new OptionsError({
				code: "INVALID_OPTION",
				ran: "no",
				message: `pool.execute: the command ${wrong}, got ${show(command)}.`,
			});
		}
		checkExecuteOptions("pool.execute", options);
		const dispatcher = this.#setting.dispatcher();
		if (this.#door === "closed") {
			if (dispatcher.failures === "told") throw poolClosed(pool, command, "no");
			const call = this.#make(command, args, options, work, session);
			return { ...call, state: { kind: "settled" } };
		}
		if (session !== undefined) this.#setting.sessions.use(session);
		const call = this.#make(command, args, options, work, session);
		call.instrument = this.#setting.instrumentation?.accept(call);
		this.#outstanding.add(call);
		this.#letGo ??= host.keepAlive();
		this.#setting.statistics.accepted();
		emit({
			type: "call.accepted",
			wallMs: clock.wall(),
			pool,
			callId: call.callId,
			command,
			queued: dispatcher.waiting,
		});
		dispatcher.submit(call);
		return call;
	}

	/** The call is over for its caller. */
	settled(call: Call, error: SnakepitError | undefined): void {
		const { pool, clock, emit, sessions, statistics } = this.#setting;
		this.#outstanding.delete(call);
		if (call.session !== undefined) sessions.done(call.session);
		const totalMs = clock.now() - call.acceptedMs;
		const outcome = outcomeOf(error);
		statistics.settled(outcome, totalMs);
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
		if (this.#outstanding.size === 0) this.#onEmpty?.();
		this.letGoIfIdle();
	}

	/** Lets the program end when nobody waits for a call and no worker is busy with one, also a cancelled one. */
	letGoIfIdle(): void {
		if (this.#outstanding.size > 0) return;
		if (this.#setting.dispatcher().running > 0) return;
		this.#letGo?.();
		this.#letGo = undefined;
	}

	/** Resolves when no call is outstanding any more, or when the time is over. */
	async drain(ms: number): Promise<void> {
		if (this.#outstanding.size === 0) return;
		await new Promise<void>((resolve) => {
			const timer = this.#setting.clock.after(ms, resolve);
			this.#onEmpty = () => {
				timer.cancel();
				resolve();
			};
		});
	}

	#make(
		command: string,
		args: unknown,
		options: ExecuteOptions,
		work: Work,
		session: Session | undefined,
	): Call {
		const { clock } = this.#setting;
		const { calls, queue } = this.#setting.options;
		const nowMs = clock.now();
		const timeoutMs = options.timeoutMs ?? calls.timeoutMs;
		const sequence = ++this.#sequence;
		return {
			callId: `c${sequence}`,
			sequence,
			place: NOWHERE,
			priority: options.priority ?? EXECUTE_DEFAULTS.priority,
			command,
			args,
			work,
			session,
			context: captureContext(),
			signal: options.signal,
			input:
				options.input === undefined ? undefined : new CallInput(options.input),
			traceContext: options.traceContext ?? NO_HEADERS,
			// An input stream is read once: such a call cannot be made again.
			idempotentRetries:
				options.input === undefined
					? (options.idempotentRetries ?? EXECUTE_DEFAULTS.idempotentRetries)
					: 0,
			queueTimeoutMs: options.queueTimeoutMs ?? queue.timeoutMs,
			acceptedMs: nowMs,
			deadlineMs: Number.isFinite(timeoutMs) ? nowMs + timeoutMs : undefined,
			state: { kind: "waiting", sinceMs: nowMs, timer: undefined },
			attempts: 0,
			begun: 0,
			instrument: undefined,
			unwatch: nothing,
		};
	}
}

function nothing(): void {}

/** Of every call without headers: many calls may wait. */
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

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
