import type { AsyncResource } from "node:async_hooks";
import type { Timer } from "../../contract/clock.ts";
import type { CallOptions, Connection } from "../../contract/connection.ts";
import type { ErrorCode } from "../../contract/error-codes.ts";
import type { SnakepitError } from "../../contract/errors.ts";
import type { AttemptDetails } from "../../contract/events.ts";
import { closeSource, ignoreEarlyErrors } from "../../contract/input-source.ts";
import type {
	CallInstrument,
	PoolInstrument,
} from "../../contract/instrument.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import type { Worker } from "../../worker/worker.ts";
import type { Arrival } from "../placement/arrival-list.ts";
import type { Session } from "../placement/session-table.ts";
import { NOWHERE, type Waiting } from "../placement/wait-queue.ts";
import type { CallAttempt } from "./call-attempt.ts";
import {
	EXECUTE_DEFAULTS,
	type ExecuteOptions,
	type RetryOptions,
} from "./call-options.ts";
import type { ProgressReports } from "./progress-reports.ts";

/** The asynchronous context of a caller. */
export interface CallerContext extends Pick<AsyncResource, "runInAsyncScope"> {
	/** Its call is settled: tools that look for what is left open must not find it. */
	emitDestroy(): unknown;
}

/** Of an `AsyncResource` that captures the context of a caller: whoever captured it ends it. */
export const ENDED_BY_OWNER = { requireManualDestroy: true } as const;

/** Where a call is. A field exists only where it means something. */
export type CallState =
	| {
			readonly kind: "waiting";
			readonly sinceMs: number;
			/** Ends the wait; `undefined` before it is in the queue, and without a limit. */
			timer: Timer | undefined;
			readonly attempt?: undefined;
	  }
	| {
			readonly kind: "prefetched";
			readonly sinceMs: number;
			timer: Timer | undefined;
			readonly attempt: CallAttempt;
	  }
	| {
			readonly kind: "running" | "unanswerable" | "failing";
			readonly attempt: CallAttempt;
	  }
	| {
			readonly kind: "pausing";
			timer: Timer | undefined;
			readonly attempt?: undefined;
	  }
	| {
			readonly kind: "cancelling";
			readonly attempt: CallAttempt;
			readonly reason: SnakepitError;
			/** What is left of the time that its worker has; `undefined` where nothing was left to cancel. */
			grace: Timer | undefined;
	  }
	| { readonly kind: "settled"; readonly attempt?: undefined };

/** One call of a caller, from its acceptance to its one settlement. */
export interface Call extends Waiting, Arrival {
	readonly callId: string;
	readonly command: string;
	readonly args: unknown;
	readonly work: Work;
	readonly session: Session | undefined;
	readonly context: CallerContext;
	readonly signal: AbortSignal | undefined;
	readonly input: CallInput | undefined;
	readonly onProgress: ExecuteOptions["onProgress"];
	/** What its caller gave. */
	readonly traceContext: Readonly<Record<string, string>>;
	/** What travels with it where no instrument follows it. */
	headers: Readonly<Record<string, string>>;
	/** How its caller has it retried; `undefined` unless it is idempotent. */
	readonly retry: RetryOptions | undefined;
	readonly queueTimeoutMs: number;
	readonly acceptedMs: number;
	/** On the monotonic clock; `undefined` without a deadline. */
	readonly deadlineMs: number | undefined;
	state: CallState;
	attempts: number;
	/** How many of those are over and may have begun. */
	begun: number;
	/** Of the attempts after which another one was wanted; `undefined` when there was none. */
	retried: FailedAttempt[] | undefined;
	/** How often it was prefetched, and recalled before it began. */
	timesRecalled: number;
	/** `undefined` unless the pool has instruments. */
	instrument: CallFollowers | undefined;
	/** `undefined` unless its caller wants reports. */
	progress: ProgressReports | undefined;
	/** Stops waiting for its abort and its deadline; `undefined` when it has neither. */
	unwatch: (() => void) | undefined;
}

/** The instruments that follow a call, as one. */
export interface CallFollowers extends CallInstrument {
	/** What one of them follows it with. */
	of(by: PoolInstrument): CallInstrument | undefined;
}

/** An attempt after which another one is wanted. */
export interface FailedAttempt extends AttemptDetails {
	readonly code: ErrorCode;
	readonly pauseMs: number;
}

/** What a caller gives of a call. */
interface CallParts {
	readonly command: string;
	readonly args: unknown;
	readonly options: ExecuteOptions | undefined;
	readonly work: Work;
	readonly session: Session | undefined;
	readonly context: CallerContext;
}

/** A call as it is accepted: what its caller leaves out is as the pool has it. */
export function newCall(
	{ command, args, options = NO_OPTIONS, work, session, context }: CallParts,
	sequence: number,
	nowMs: number,
	{
		calls,
		queue,
		deadlinesOfCalls,
	}: Pick<ResolvedOptions, "calls" | "queue" | "deadlinesOfCalls">,
): Call {
	const { input } = options;
	const own = deadlinesOfCalls === "kept" ? options : NO_OPTIONS;
	const timeoutMs = own.timeoutMs ?? calls.timeoutMs;
	const traceContext = options.traceContext ?? NO_HEADERS;
	return {
		callId: `c${sequence}`,
		sequence,
		place: NOWHERE,
		before: undefined,
		after: undefined,
		priority: options.priority ?? EXECUTE_DEFAULTS.priority,
		command,
		args,
		work,
		session,
		context,
		signal: options.signal,
		input: input === undefined ? undefined : new CallInput(input),
		onProgress: options.onProgress,
		traceContext,
		headers: traceContext,
		// An input stream is read once: such a call cannot be made again.
		retry: input === undefined ? options.retry : undefined,
		queueTimeoutMs: own.queueTimeoutMs ?? queue.timeoutMs,
		acceptedMs: nowMs,
		deadlineMs: Number.isFinite(timeoutMs) ? nowMs + timeoutMs : undefined,
		state: { kind: "waiting", sinceMs: nowMs, timer: undefined },
		attempts: 0,
		begun: 0,
		retried: undefined,
		timesRecalled: 0,
		instrument: undefined,
		progress: undefined,
		unwatch: undefined,
	};
}

/** Of every call without headers: many calls may wait. */
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

const NO_OPTIONS: ExecuteOptions = Object.freeze({});

type Items = AsyncIterable<unknown> | Iterable<unknown>;

/** What a caller's call reads while it runs. It can be read once, so this notes whether reading began. */
class CallInput {
	/** For the adapter. */
	readonly items: Items;
	readonly #source: Items;
	#opened: "no" | "yes" = "no";

	constructor(source: Items) {
		this.#source = source;
		ignoreEarlyErrors(source);
		const open = (): void => {
			this.#opened = "yes";
		};
		this.items =
			Symbol.asyncIterator in source
				? {
						[Symbol.asyncIterator]() {
							open();
							return source[Symbol.asyncIterator]();
						},
					}
				: {
						[Symbol.iterator]() {
							open();
							return source[Symbol.iterator]();
						},
					};
	}

	/** The call is over. */
	release(): void {
		closeSource(this.#source);
	}

	/** Whether items may have been taken from it. */
	get opened(): "no" | "yes" {
		return this.#opened;
	}
}

/** An attempt, as its work sees it. */
export interface Attempted {
	/** Then what arrives is not the answer of the call: the worker is gone, and another may run the call now. */
	readonly isOver: boolean;
	readonly worker: Pick<Worker, "ref" | "isEnding">;
}

/** The work of a call with one answer: `execute` of the connection. */
export interface UnaryWork {
	readonly shape: "unary";
	readonly begun: false;
	/** Resolves the promise that its caller has. */
	readonly succeed: (answer: unknown) => void;
}

/** What a call does on a connection that is more than `execute`. Settled once. */
export interface LongWork {
	readonly shape: "stream" | "lease";
	/** Whether something was delivered already: then the call cannot be made again. */
	readonly begun: boolean;
	succeed(answer: unknown): void;
	fail(error: Error): void;
	/** Resolves to the answer when the worker is done with the call. An adapter may also throw synchronously, or answer with no promise. */
	run(
		connection: Connection,
		command: string,
		args: unknown,
		options: CallOptions,
		attempt: Attempted,
	): Promise<unknown>;
}

/** What a call does on a connection. */
export type Work = UnaryWork | LongWork;
