import { randomBytes } from "node:crypto";
import {
	type Context,
	context,
	isSpanContextValid,
	type Link,
	propagation,
	ROOT_CONTEXT,
	type Span,
	type SpanContext,
	TraceFlags,
	trace,
} from "@opentelemetry/api";
import {
	type EventOf,
	type SnakepitError,
	WorkerLostError,
} from "@snakepit/core";
import { type BackCall, NOT_SAMPLED } from "@snakepit/core/adapter";
import type {
	AcceptedCall,
	AttemptInstrument,
	CallInstrument,
	CommandRun,
	DispatchedAttempt,
	UnfollowedCall,
} from "@snakepit/core/instrument";
import {
	type Headers,
	headersOf,
	linkTo,
	noteError,
	recordError,
	type Spans,
	within,
	writesW3c,
} from "./spans.ts";
import type { LostAttempts } from "./worker-traces.ts";

const NO_LINKS: readonly Link[] = [];

/** The spans of one call. */
export class CallTrace implements CallInstrument, TracedCall {
	readonly #spans: Spans;
	readonly #lost: LostAttempts;
	readonly #span: Span;
	readonly context: Context;
	/** Two clocks when the span began: the wall clock may be adjusted, and it shows only whole milliseconds. */
	readonly #beganWallMs = Date.now();
	readonly #beganMs = performance.now();
	#queue: Span | undefined;
	#last: AttemptTrace | undefined;
	#attempts = 0;

	constructor(
		spans: Spans,
		lost: LostAttempts,
		call: AcceptedCall,
		parent: Context,
	) {
		this.#spans = spans;
		this.#lost = lost;
		const { limits } = spans;
		const command = limits.name(call.command);
		this.#span = spans.start("call", {
			within: parent,
			of: command,
			attributes: {
				"snakepit.pool.name": call.pool,
				"snakepit.command": command,
			},
			details: {
				"snakepit.call.id": call.callId,
				"snakepit.call.shape": call.shape,
				"snakepit.session.id":
					call.sessionId === undefined
						? undefined
						: limits.name(call.sessionId),
			},
		});
		this.context = within(this.#span, parent);
	}

	now(): number {
		return this.#beganWallMs + performance.now() - this.#beganMs;
	}

	/** The headers for a worker that gets the call before its attempt begins. */
	prefetched(): Headers {
		return headersOf(this.context);
	}

	get traceId(): string {
		return this.#span.spanContext().traceId;
	}

	get isRecording(): boolean {
		return this.#span.isRecording();
	}

	queued(): void {
		this.#queue = this.#spans.start("queue", { within: this.context });
	}

	dispatched(attempt: DispatchedAttempt): AttemptInstrument {
		this.#queue?.end();
		this.#queue = undefined;
		this.#attempts = attempt.attempt;
		this.#last = new AttemptTrace(
			this.#spans,
			this.#lost,
			attempt,
			this,
			this.#last === undefined
				? NO_LINKS
				: [linkTo(this.#last.spanContext, "previous attempt")],
		);
		return this.#last;
	}

	retried(error: SnakepitError): void {
		this.#spans.event(this.#span, "retried", { "error.type": error.code });
	}

	settled(error: SnakepitError | undefined): void {
		const span = this.#span;
		if (this.#queue !== undefined) {
			if (error !== undefined)
				this.#queue.setAttribute("error.type", error.code);
			this.#queue.end();
			this.#queue = undefined;
		}
		span.setAttribute("snakepit.call.outcome", outcomeOf(error));
		span.setAttribute("snakepit.call.attempts", this.#attempts);
		if (error !== undefined) this.#fail(error);
		span.end();
	}

	#fail(error: SnakepitError): void {
		const span = this.#span;
		span.setAttribute("snakepit.call.ran", error.ran);
		// An abort by the caller is not a failure of the call.
		if (error.code === "CALL_ABORTED")
			span.setAttribute("error.type", error.code);
		else if (this.#attempts === 0)
			recordError(this.#spans, span, error, "rpc.client.call.exception");
		else noteError(this.#spans, span, error);
	}
}

function outcomeOf(
	error: SnakepitError | undefined,
): EventOf<"call.settled">["outcome"] {
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

/** The data that an attempt shares with its call. */
interface TracedCall {
	readonly context: Context;
	/** Now, in milliseconds since the Unix epoch, as the span of the call counts them. */
	now(): number;
}

/**
 * The span of one attempt. The call frame carries its context. If the call was prefetched, the frame carries the
 * context of the call instead, and this span begins and ends when the worker reports that the command did.
 */
class AttemptTrace implements AttemptInstrument {
	readonly traceContext: Headers;
	readonly #spans: Spans;
	readonly #lost: LostAttempts;
	readonly #attempt: DispatchedAttempt;
	readonly #call: TracedCall;
	readonly #links: readonly Link[];
	#opened: { readonly span: Span; readonly context: Context } | undefined;
	/** When it was dispatched, if its span is not open yet. */
	readonly #dispatchedMs: number | undefined;
	#cancelled: SnakepitError | undefined;

	constructor(
		spans: Spans,
		lost: LostAttempts,
		attempt: DispatchedAttempt,
		call: TracedCall,
		links: readonly Link[],
	) {
		this.#spans = spans;
		this.#lost = lost;
		this.#attempt = attempt;
		this.#call = call;
		this.#links = links;
		if (attempt.prefetched) this.#dispatchedMs = call.now();
		this.traceContext = attempt.prefetched
			? {}
			: headersOf(this.#open().context);
	}

	get spanContext(): SpanContext {
		return this.#open(this.#dispatchedMs).span.spanContext();
	}

	#open(atMs?: number): { readonly span: Span; readonly context: Context } {
		if (this.#opened !== undefined) return this.#opened;
		const attempt = this.#attempt;
		const { context } = this.#call;
		const span = this.#spans.start("attempt", {
			within: context,
			links: this.#links,
			...(atMs !== undefined && { atMs }),
			details: {
				"snakepit.pool.name": attempt.pool,
				"snakepit.worker.id": attempt.workerId,
				"snakepit.worker.incarnation": attempt.incarnation,
				"snakepit.attempt": attempt.attempt,
				"process.pid": attempt.pid,
			},
		});
		this.#opened = { span, context: within(span, context) };
		return this.#opened;
	}

	readonly backCall = async <T>(
		backCall: BackCall,
		run: () => Promise<T>,
	): Promise<T> => {
		const { drops } = this.#spans;
		const span = drops.guard("tracer_threw", () =>
			this.#openBackCall(backCall),
		);
		if (span === undefined) return await run();
		try {
			return await context.with(span.context, run);
		} catch (error) {
			drops.guard("tracer_threw", () =>
				recordError(this.#spans, span.span, error, "rpc.server.call.exception"),
			);
			throw error;
		} finally {
			drops.guard("tracer_threw", () => span.span.end());
		}
	};

	#openBackCall(backCall: BackCall): {
		readonly span: Span;
		readonly context: Context;
	} {
		const { context } = this.#open(this.#dispatchedMs);
		const parent = propagation.extract(context, backCall.traceContext);
		const name = this.#spans.limits.name(backCall.function);
		const span = this.#spans.start("back-call", {
			within: parent,
			of: name,
			attributes: { "snakepit.function": name },
		});
		return { span, context: within(span, parent) };
	}

	cancelled(reason: SnakepitError): void {
		this.#cancelled = reason;
		const { span } = this.#open(this.#dispatchedMs);
		this.#spans.event(span, "cancelled", { "error.type": reason.code });
	}

	released(
		error: SnakepitError | undefined,
		ran: CommandRun | undefined,
	): void {
		// An open span belongs to an attempt that was sent to run or made a back-call: it ends now.
		const beganMs =
			ran === undefined || this.#opened !== undefined
				? undefined
				: this.#call.now() - ran.beganAgoMs;
		const { span } = this.#open(beganMs ?? this.#dispatchedMs);
		// The error of a cancelled attempt is the reason for the cancel, not the worker's answer to it.
		const lost = error instanceof WorkerLostError;
		const reported = lost ? error : (this.#cancelled ?? error);
		if (reported !== undefined) {
			span.setAttribute("snakepit.call.ran", reported.ran);
			if (reported.code === "CALL_ABORTED")
				span.setAttribute("error.type", reported.code);
			else
				recordError(this.#spans, span, reported, "rpc.client.call.exception");
		}
		if (lost) this.#lost.note(this.#attempt.incarnation, span.spanContext());
		if (beganMs === undefined || ran === undefined) span.end();
		else span.end(beganMs + ran.ranMs);
	}
}

/**
 * Decides whether a call may be traced, before the SDK decides: within a trace as its caller is; outside of one by the
 * settings of its command.
 *
 * @param sample of its command; `undefined` leaves it to the SDK.
 * @param within the context in which it is made.
 */
export function mayTrace(
	sample: (() => boolean) | undefined,
	within: Context,
): boolean {
	if (sample === undefined) return true;
	if (within === ROOT_CONTEXT) return sample();
	const caller = trace.getSpanContext(within);
	if (caller !== undefined && isSpanContextValid(caller))
		return (caller.traceFlags & TraceFlags.SAMPLED) !== 0;
	return sample();
}

/** One object for all such calls. The trace differs each time. */
const NO_TRACE: UnfollowedCall = {
	traceContext: Object.defineProperty(
		{
			get traceparent(): string {
				return `00-${take(TRACE)}-${take(SPAN)}-00`;
			},
		},
		NOT_SAMPLED,
		{ value: true },
	),
};

/**
 * The headers of a call that is not sampled here, so that its worker does not sample it either: those of its caller, or
 * of a trace that is not recorded.
 */
export function unsampled(within: Context): UnfollowedCall | undefined {
	// No headers have to be searched there.
	if (within === ROOT_CONTEXT && writesW3c()) return NO_TRACE;
	const caller = trace.getSpanContext(within);
	if (caller !== undefined && isSpanContextValid(caller))
		return unfollowed(headersOf(within));
	if (writesW3c() && propagation.getBaggage(within) === undefined)
		return NO_TRACE;
	const span = {
		traceId: take(TRACE),
		spanId: take(SPAN),
		traceFlags: TraceFlags.NONE,
	};
	return unfollowed(headersOf(trace.setSpanContext(within, span)));
}

export function unfollowed(traceContext: Headers): UnfollowedCall | undefined {
	for (const _ in traceContext) return { traceContext };
	return undefined;
}

/** Of a trace and a span, in hexadecimal digits. */
const TRACE = 32;
const SPAN = 16;
/** Creating random bytes would take longer than the rest of a call's headers. */
const BLOCK_BYTES = 24 * 256;

let digits = "";
let used = 0;

function take(count: number): string {
	if (used + count > digits.length) {
		digits = randomBytes(BLOCK_BYTES).toString("hex");
		used = 0;
	}
	used += count;
	return digits.slice(used - count, used);
}
