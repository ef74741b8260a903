import { randomBytes } from "node:crypto";
import {
	type Context,
	isSpanContextValid,
	propagation,
	type SpanContext,
	TraceFlags,
	trace,
} from "@opentelemetry/api";

/** What a worker reads. */
export type Headers = Readonly<Record<string, string>>;

const W3C = ["traceparent", "tracestate", "baggage"];

/**
 * Returns the W3C headers of a context. They are written here where the registered propagator would write
 * `traceparent` and nothing else: that takes it several times as long.
 *
 * @param span instead of that of the context.
 */
export function headersOf(within: Context, span?: SpanContext): Headers {
	const fields = propagation.fields();
	if (
		fields.includes("traceparent") &&
		fields.every((field) => W3C.includes(field)) &&
		propagation.getBaggage(within) === undefined
	) {
		const current = span ?? trace.getSpanContext(within);
		if (
			current !== undefined &&
			isSpanContextValid(current) &&
			current.traceState === undefined
		)
			return {
				traceparent: `00-${current.traceId}-${current.spanId}-0${current.traceFlags & TraceFlags.SAMPLED}`,
			};
	}
	const headers = {};
	propagation.inject(
		span === undefined ? within : trace.setSpanContext(within, span),
		headers,
	);
	return headers;
}

/**
 * Returns the headers of a call that is not sampled here, so that it is not sampled in its worker either: those of its
 * caller, or of a trace that nobody records.
 */
export function unsampledHeaders(within: Context): Headers {
	const caller = trace.getSpanContext(within);
	return caller !== undefined && isSpanContextValid(caller)
		? headersOf(within)
		: headersOf(within, unrecordedSpan());
}

/** Of a trace and a span, in hexadecimal digits. */
const TRACE = 32;
const SPAN = 16;
/** Asking for random bytes takes longer than the rest of a call's headers. */
const BLOCK_BYTES = 24 * 256;

let digits = "";
let used = 0;

function unrecordedSpan(): SpanContext {
	if (used === digits.length) {
		digits = randomBytes(BLOCK_BYTES).toString("hex");
		used = 0;
	}
	const traceId = digits.slice(used, used + TRACE);
	const spanId = digits.slice(used + TRACE, used + TRACE + SPAN);
	used += TRACE + SPAN;
	return { traceId, spanId, traceFlags: TraceFlags.NONE };
}
