import {
	type Context,
	isSpanContextValid,
	propagation,
	TraceFlags,
	trace,
} from "@opentelemetry/api";

/** What a worker reads. */
export type Headers = Readonly<Record<string, string>>;

const W3C = ["traceparent", "tracestate", "baggage"];

/**
 * Returns the W3C headers of a context. This code writes them if the registered propagator would write only
 * `traceparent`: the propagator takes several times as long.
 */
export function headersOf(within: Context): Headers {
	if (writesW3c() && propagation.getBaggage(within) === undefined) {
		const current = trace.getSpanContext(within);
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
	propagation.inject(within, headers);
	return headers;
}

/** Whether the registered propagator writes a `traceparent`, and only W3C headers. */
export function writesW3c(): boolean {
	const fields = propagation.fields();
	return (
		fields.includes("traceparent") &&
		fields.every((field) => W3C.includes(field))
	);
}
