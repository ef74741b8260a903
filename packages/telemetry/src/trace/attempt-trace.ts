import {
	type Context,
	context,
	type Link,
	propagation,
	type Span,
	type SpanContext,
} from "@opentelemetry/api";
import { type SnakepitError, WorkerLostError } from "@snakepit/core";
import type { BackCall } from "@snakepit/core/adapter";
import type {
	AttemptInstrument,
	CommandRun,
	DispatchedAttempt,
} from "@snakepit/core/instrument";
import { recordError } from "./exceptions.ts";
import { type Headers, headersOf } from "./headers.ts";
import type { LostAttempts } from "./lost-attempts.ts";
import { type Spans, within } from "./spans.ts";

/** The data that an attempt shares with its call. */
export interface TracedCall {
	readonly context: Context;
	/** Now, in milliseconds since the Unix epoch, as the span of the call counts them. */
	now(): number;
}

/**
 * The span of one attempt. The call frame carries its context. If the call was prefetched, the frame carries the
 * context of the call instead, and this span begins and ends when the worker reports that the command did.
 */
export class AttemptTrace implements AttemptInstrument {
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
				recordError(this.#spans, span.span, error),
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
		const shown = lost ? error : (this.#cancelled ?? error);
		if (shown !== undefined) {
			span.setAttribute("snakepit.call.ran", shown.ran);
			if (shown.code === "CALL_ABORTED")
				span.setAttribute("error.type", shown.code);
			else recordError(this.#spans, span, shown);
		}
		if (lost) this.#lost.note(this.#attempt.incarnation, span.spanContext());
		if (beganMs === undefined || ran === undefined) span.end();
		else span.end(beganMs + ran.ranMs);
	}
}
