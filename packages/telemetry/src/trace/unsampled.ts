import { randomBytes } from "node:crypto";
import {
	type Context,
	isSpanContextValid,
	propagation,
	ROOT_CONTEXT,
	TraceFlags,
	trace,
} from "@opentelemetry/api";
import { NOT_SAMPLED } from "@snakepit/core/adapter";
import type { UnfollowedCall } from "@snakepit/core/instrument";
import { type Headers, headersOf, writesW3c } from "./headers.ts";

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
