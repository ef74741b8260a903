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
	DispatchedAttempt,
} from "@snakepit/core/instrument";
import { recordError } from "./exceptions.ts";
import type { LostAttempts } from "./lost-attempts.ts";
import { type Spans, within } from "./spans.ts";

/** The span of one attempt. Its context travels in the call frame. */
export class AttemptTrace implements AttemptInstrument {
	readonly traceContext: Readonly<Record<string, string>>;
	readonly #spans: Spans;
	readonly #lost: LostAttempts;
	readonly #incarnation: string;
	readonly #span: Span;
	readonly #context: Context;
	#cancelled: SnakepitError | undefined;

	constructor(
		spans: Spans,
		lost: LostAttempts,
		attempt: DispatchedAttempt,
		call: Context,
		links: readonly Link[],
	) {
		this.#spans = spans;
		this.#lost = lost;
		this.#incarnation = attempt.incarnation;
		this.#span = spans.start("attempt", {
			within: call,
			links,
			details: {
				"snakepit.pool.name": attempt.pool,
				"snakepit.worker.id": attempt.workerId,
				"snakepit.worker.incarnation": attempt.incarnation,
				"snakepit.attempt": attempt.attempt,
				"process.pid": attempt.pid,
			},
		});
		this.#context = within(this.#span, call);
		const headers: Record<string, string> = {};
		propagation.inject(this.#context, headers);
		this.traceContext = headers;
	}

	get spanContext(): SpanContext {
		return this.#span.spanContext();
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
		const parent = propagation.extract(this.#context, backCall.traceContext);
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
		this.#spans.event(this.#span, "cancelled", { "error.type": reason.code });
	}

	released(error: SnakepitError | undefined): void {
		// The error of a cancelled attempt is the reason of the cancel, not the worker's answer to it.
		const lost = error instanceof WorkerLostError;
		const shown = lost ? error : (this.#cancelled ?? error);
		if (shown !== undefined) {
			this.#span.setAttribute("snakepit.call.ran", shown.ran);
			if (shown.code === "CALL_ABORTED")
				this.#span.setAttribute("error.type", shown.code);
			else recordError(this.#spans, this.#span, shown);
		}
		if (lost) this.#lost.note(this.#incarnation, this.spanContext);
		this.#span.end();
	}
}
