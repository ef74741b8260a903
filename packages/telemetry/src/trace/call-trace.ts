import type { Context, Link, Span } from "@opentelemetry/api";
import type { EventOf, SnakepitError } from "@snakepit/core";
import type {
	AcceptedCall,
	AttemptInstrument,
	CallInstrument,
	DispatchedAttempt,
} from "@snakepit/core/instrument";
import { AttemptTrace, type TracedCall } from "./attempt-trace.ts";
import { noteError, recordError } from "./exceptions.ts";
import { type Headers, headersOf } from "./headers.ts";
import type { LostAttempts } from "./lost-attempts.ts";
import { linkTo, type Spans, within } from "./spans.ts";

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
		else if (this.#attempts === 0) recordError(this.#spans, span, error);
		else noteError(this.#spans, span, error);
	}
}

export function outcomeOf(
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
