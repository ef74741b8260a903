import {
	type Attributes,
	type Context,
	context,
	INVALID_TRACEID,
	isSpanContextValid,
	type Link,
	propagation,
	ROOT_CONTEXT,
	type Span,
	type SpanContext,
	SpanKind,
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
import type { CallOfSpan, ResolvedTelemetryOptions } from "../options.ts";
import { newSpanId, newTraceId } from "./ids.ts";
import type { SpanFacts } from "./late-span.ts";
import { within } from "./span-context.ts";
import {
	type Headers,
	headersOf,
	linkTo,
	noteError,
	RPC_SYSTEM,
	recordError,
	type Spans,
	writesW3c,
} from "./spans.ts";
import type { LostAttempts } from "./worker-traces.ts";

/** What the spans of all calls have in common. */
export interface CallTracesParts {
	readonly spans: Spans;
	readonly lost: LostAttempts;
	readonly options: Pick<
		ResolvedTelemetryOptions,
		"commands" | "spans" | "relation" | "onCallSpan"
	>;
}

/** Begins the spans of calls. */
export class CallTraces {
	readonly #parts: CallTracesParts;

	constructor(parts: CallTracesParts) {
		this.#parts = parts;
	}

	/** Called in the asynchronous context of the caller. */
	accept(call: AcceptedCall): CallInstrument | UnfollowedCall | undefined {
		const parts = this.#parts;
		const { spans, options } = parts;
		const caller = parentOf(call);
		const link =
			options.relation === "link" ? trace.getSpanContext(caller) : undefined;
		const parent = link === undefined ? caller : trace.deleteSpan(caller);
		if (!mayTrace(options.commands.of(call.command).sample, parent))
			return unsampled(parent);
		const facts = new CallFacts(parts, call);
		const nowMs = Date.now();
		const span = spans.begin(
			`call ${facts.command}`,
			options.spans.attempt ? SpanKind.INTERNAL : SpanKind.CLIENT,
			parent,
			facts,
			nowMs,
			link && [linkTo(link, "caller")],
		);
		if (span.isRecording()) {
			const traced = new CallTrace(parts, facts, span, parent, nowMs);
			if (options.onCallSpan !== undefined) this.#show(traced, call);
			return traced;
		}
		// The SDK's sampler left it out: its worker needs no trace of its own.
		if (
			parent === ROOT_CONTEXT &&
			span.spanContext().traceId !== INVALID_TRACEID
		)
			return unsampled(parent);
		return unfollowed(headersOf(within(span, parent)));
	}

	#show(
		traced: CallTrace,
		{ pool, command, callId, shape, sessionId, args }: AcceptedCall,
	): void {
		const { spans, options } = this.#parts;
		const { drops } = spans;
		const call: CallOfSpan = { pool, command, callId, shape, sessionId, args };
		const shown: unknown = drops.guard("hook_threw", () =>
			context.with(traced.context, () =>
				options.onCallSpan?.(traced.span, call),
			),
		);
		if (shown instanceof Promise) shown.catch(() => drops.count("hook_threw"));
	}
}

/** What the span of a call says. */
class CallFacts implements SpanFacts {
	readonly command: string;
	readonly #pool: string;
	readonly #callId: string;
	readonly #shape: AcceptedCall["shape"];
	readonly #sessionId: string | undefined;
	readonly #isRpc: boolean;
	/** Its last attempt, if that has no span of its own. */
	attempt: DispatchedAttempt | undefined;
	attempts = 0;
	outcome: EventOf<"call.settled">["outcome"] = "succeeded";

	constructor({ spans, options }: CallTracesParts, call: AcceptedCall) {
		const { limits } = spans;
		this.command = limits.name(call.command);
		this.#pool = call.pool;
		this.#callId = call.callId;
		this.#shape = call.shape;
		this.#sessionId =
			call.sessionId === undefined ? undefined : limits.name(call.sessionId);
		this.#isRpc = !options.spans.attempt;
	}

	sampled(): Attributes {
		const attributes: Attributes = {
			"snakepit.pool.name": this.#pool,
			"snakepit.command": this.command,
		};
		if (this.#isRpc) addRpc(attributes, this.command);
		return attributes;
	}

	begun(to: Attributes): void {
		to["snakepit.call.id"] = this.#callId;
		to["snakepit.call.shape"] = this.#shape;
		if (this.#sessionId !== undefined)
			to["snakepit.session.id"] = this.#sessionId;
	}

	ended(to: Attributes): void {
		to["snakepit.call.outcome"] = this.outcome;
		to["snakepit.call.attempts"] = this.attempts;
		if (this.attempt !== undefined) addAttempt(to, this.attempt);
	}
}

/** The spans of one call. */
export class CallTrace implements CallInstrument {
	readonly span: Span;
	readonly context: Context;
	readonly #parts: CallTracesParts;
	readonly #facts: CallFacts;
	/** Two clocks when the span began: the wall clock may be adjusted, and it shows only whole milliseconds. */
	readonly #beganWallMs: number;
	readonly #beganMs = performance.now();
	#queue: Span | undefined;
	#last: AttemptTrace | undefined;

	constructor(
		parts: CallTracesParts,
		facts: CallFacts,
		span: Span,
		parent: Context,
		beganWallMs: number,
	) {
		this.#parts = parts;
		this.#facts = facts;
		this.span = span;
		this.context = within(span, parent);
		this.#beganWallMs = beganWallMs;
	}

	/** Now, in milliseconds since the Unix epoch. */
	now(): number {
		return this.#beganWallMs + performance.now() - this.#beganMs;
	}

	get command(): string {
		return this.#facts.command;
	}

	/** The headers for a worker that gets the call before its attempt begins. */
	prefetched(): Headers {
		return headersOf(this.context);
	}

	get traceId(): string {
		return this.span.spanContext().traceId;
	}

	queued(): void {
		const { spans, options } = this.#parts;
		if (options.spans.queue)
			this.#queue = spans.begin(
				"queue",
				SpanKind.INTERNAL,
				this.context,
				NO_FACTS,
				this.now(),
			);
	}

	dispatched(attempt: DispatchedAttempt): AttemptInstrument {
		const nowMs = this.now();
		this.#endQueue(undefined, nowMs);
		this.#facts.attempts = attempt.attempt;
		const parts = this.#parts;
		if (!parts.options.spans.attempt) {
			this.#facts.attempt = attempt;
			return new SpanlessAttempt(parts, attempt, this);
		}
		const links =
			this.#last === undefined
				? undefined
				: [linkTo(this.#last.spanContext, "previous attempt")];
		this.#last = new AttemptTrace(parts, attempt, this, links, nowMs);
		return this.#last;
	}

	retried(error: SnakepitError): void {
		const { spans } = this.#parts;
		spans.event(this.span, "retried", { "error.type": error.code });
	}

	settled(error: SnakepitError | undefined, args?: unknown): void {
		const nowMs = this.now();
		this.#endQueue(error, nowMs);
		this.#facts.outcome = outcomeOf(error);
		if (error !== undefined) this.#fail(error);
		if (args !== undefined)
			this.span.setAttribute(
				"snakepit.call.args",
				this.#parts.spans.limits.args(args),
			);
		this.#parts.spans.finish(this.span, this.#facts, nowMs);
	}

	#endQueue(error: SnakepitError | undefined, atMs: number): void {
		const queue = this.#queue;
		if (queue === undefined) return;
		this.#queue = undefined;
		if (error !== undefined) queue.setAttribute("error.type", error.code);
		this.#parts.spans.finish(queue, NO_FACTS, atMs);
	}

	#fail(error: SnakepitError): void {
		const { span } = this;
		const { spans, options } = this.#parts;
		span.setAttribute("snakepit.call.ran", error.ran);
		// An abort by the caller is not a failure of the call.
		if (error.code === "CALL_ABORTED")
			span.setAttribute("error.type", error.code);
		else if (this.#facts.attempts === 0 || !options.spans.attempt)
			recordError(spans, span, error, "rpc.client.call.exception");
		else noteError(spans, span, error);
	}
}

const NO_FACTS: SpanFacts = {
	sampled: () => ({}),
	begun: () => {},
	ended: () => {},
};

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

function addRpc(to: Attributes, method: string): void {
	to["rpc.system.name"] = RPC_SYSTEM;
	to["rpc.method"] = method;
}

function addAttempt(
	to: Attributes,
	{ workerId, incarnation, attempt, pid }: DispatchedAttempt,
): void {
	to["snakepit.worker.id"] = workerId;
	to["snakepit.worker.incarnation"] = incarnation;
	to["snakepit.attempt"] = attempt;
	if (pid !== undefined) to["process.pid"] = pid;
}

/** What the span of an attempt says. */
class AttemptFacts implements SpanFacts {
	readonly #command: string;
	readonly #attempt: DispatchedAttempt;

	constructor(command: string, attempt: DispatchedAttempt) {
		this.#command = command;
		this.#attempt = attempt;
	}

	sampled(): Attributes {
		const attributes: Attributes = {};
		addRpc(attributes, this.#command);
		return attributes;
	}

	begun(to: Attributes): void {
		to["snakepit.pool.name"] = this.#attempt.pool;
		addAttempt(to, this.#attempt);
	}

	ended(): void {}
}

interface OpenSpan {
	readonly span: Span;
	readonly context: Context;
}

/** What back-calls and requests of an attempt do, whichever span is around them. */
abstract class Attempted {
	protected readonly parts: CallTracesParts;
	protected readonly call: CallTrace;
	protected readonly attempt: DispatchedAttempt;

	constructor(
		parts: CallTracesParts,
		attempt: DispatchedAttempt,
		call: CallTrace,
	) {
		this.parts = parts;
		this.attempt = attempt;
		this.call = call;
	}

	/** The span that is around them. */
	protected abstract around(): OpenSpan;

	sending<T>(send: () => T): T {
		const around = this.parts.spans.drops.guard(
			"tracer_threw",
			() => this.around().context,
		);
		return around === undefined ? send() : context.with(around, send);
	}

	async backCall<T>(backCall: BackCall, run: () => Promise<T>): Promise<T> {
		const { spans } = this.parts;
		const { drops } = spans;
		const span = drops.guard("tracer_threw", () =>
			this.#openBackCall(backCall),
		);
		if (span === undefined) return await run();
		try {
			return await context.with(span.context, run);
		} catch (error) {
			drops.guard("tracer_threw", () =>
				recordError(spans, span.span, error, "rpc.server.call.exception"),
			);
			throw error;
		} finally {
			drops.guard("tracer_threw", () => span.span.end());
		}
	}

	#openBackCall(backCall: BackCall): OpenSpan {
		const { spans } = this.parts;
		const parent = propagation.extract(
			this.around().context,
			backCall.traceContext,
		);
		const name = spans.limits.name(backCall.function);
		const span = spans.start("back-call", {
			within: parent,
			of: name,
			attributes: {
				"snakepit.function": name,
				"rpc.system.name": RPC_SYSTEM,
				"rpc.method": name,
			},
		});
		return { span, context: within(span, parent) };
	}
}

/** An attempt without a span of its own: what belongs to it belongs to its call. */
class SpanlessAttempt extends Attempted implements AttemptInstrument {
	readonly traceContext: Headers;

	constructor(
		parts: CallTracesParts,
		attempt: DispatchedAttempt,
		call: CallTrace,
	) {
		super(parts, attempt, call);
		this.traceContext = attempt.prefetched ? NO_HEADERS : call.prefetched();
	}

	protected around(): OpenSpan {
		return this.call;
	}

	cancelled(reason: SnakepitError): void {
		const { span } = this.call;
		if (span.isRecording())
			this.parts.spans.event(span, "cancelled", { "error.type": reason.code });
	}

	released(error: SnakepitError | undefined): void {
		if (error instanceof WorkerLostError)
			this.parts.lost.note(
				this.attempt.incarnation,
				this.call.span.spanContext(),
			);
	}
}

const NO_HEADERS: Headers = Object.freeze({});

/**
 * The span of one attempt. The call frame carries its context. If the call was prefetched, the frame carries the
 * context of the call instead, and this span begins and ends when the worker reports that the command did.
 */
class AttemptTrace extends Attempted implements AttemptInstrument {
	readonly traceContext: Headers;
	readonly #facts: AttemptFacts;
	readonly #links: Link[] | undefined;
	#opened: Span | undefined;
	/** Made when it is asked for: most attempts need it only as headers. */
	#context: Context | undefined;
	/** When it was dispatched. */
	readonly #dispatchedMs: number;
	#cancelled: SnakepitError | undefined;

	constructor(
		parts: CallTracesParts,
		attempt: DispatchedAttempt,
		call: CallTrace,
		links: Link[] | undefined,
		dispatchedMs: number,
	) {
		super(parts, attempt, call);
		this.#facts = new AttemptFacts(call.command, attempt);
		this.#links = links;
		this.#dispatchedMs = dispatchedMs;
		this.traceContext = attempt.prefetched
			? NO_HEADERS
			: headersOf(this.around().context);
	}

	get spanContext(): SpanContext {
		return this.#open(this.#dispatchedMs).spanContext();
	}

	protected around(): OpenSpan {
		const span = this.#open(this.#dispatchedMs);
		this.#context ??= within(span, this.call.context);
		return { span, context: this.#context };
	}

	#open(atMs: number): Span {
		this.#opened ??= this.parts.spans.begin(
			`attempt ${this.call.command}`,
			SpanKind.CLIENT,
			this.call.context,
			this.#facts,
			atMs,
			this.#links,
		);
		return this.#opened;
	}

	cancelled(reason: SnakepitError): void {
		this.#cancelled = reason;
		const span = this.#open(this.#dispatchedMs);
		this.parts.spans.event(span, "cancelled", { "error.type": reason.code });
	}

	released(
		error: SnakepitError | undefined,
		ran: CommandRun | undefined,
	): void {
		const { spans, lost } = this.parts;
		const nowMs = this.call.now();
		// An open span belongs to an attempt that was sent to run or made a back-call: it ends now.
		const beganMs =
			ran === undefined || this.#opened !== undefined
				? undefined
				: nowMs - ran.beganAgoMs;
		const span = this.#open(beganMs ?? this.#dispatchedMs);
		// The error of a cancelled attempt is the reason for the cancel, not the worker's answer to it.
		const isLost = error instanceof WorkerLostError;
		const reported = isLost ? error : (this.#cancelled ?? error);
		if (reported !== undefined) {
			span.setAttribute("snakepit.call.ran", reported.ran);
			if (reported.code === "CALL_ABORTED")
				span.setAttribute("error.type", reported.code);
			else recordError(spans, span, reported, "rpc.client.call.exception");
		}
		if (isLost) lost.note(this.attempt.incarnation, span.spanContext());
		const endMs =
			beganMs === undefined || ran === undefined ? nowMs : beganMs + ran.ranMs;
		spans.finish(span, this.#facts, endMs);
	}
}

function parentOf({ traceContext }: AcceptedCall): Context {
	const active = context.active();
	for (const _ in traceContext)
		return propagation.extract(active, traceContext);
	return active;
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
				return `00-${newTraceId()}-${newSpanId()}-00`;
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
function unsampled(within: Context): UnfollowedCall | undefined {
	// No headers have to be searched there.
	if (within === ROOT_CONTEXT && writesW3c()) return NO_TRACE;
	const caller = trace.getSpanContext(within);
	if (caller !== undefined && isSpanContextValid(caller))
		return unfollowed(headersOf(within));
	if (writesW3c() && propagation.getBaggage(within) === undefined)
		return NO_TRACE;
	const span = {
		traceId: newTraceId(),
		spanId: newSpanId(),
		traceFlags: TraceFlags.NONE,
	};
	return unfollowed(headersOf(trace.setSpanContext(within, span)));
}

function unfollowed(traceContext: Headers): UnfollowedCall | undefined {
	for (const _ in traceContext) return { traceContext };
	return undefined;
}
