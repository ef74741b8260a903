import {
	isSpanContextValid,
	type SpanContext,
	TraceFlags,
} from "@opentelemetry/api";

/**
 * Whether a call may be traced, before the SDK is asked: as its caller is; outside of a trace by chance.
 *
 * @param share `traces` of its command.
 * @param caller the span in which it is made.
 * @param random from 0 up to, but not including, 1.
 */
export function mayTrace(
	share: number | undefined,
	caller: SpanContext | undefined,
	random: () => number,
): boolean {
	if (share === undefined) return true;
	if (caller !== undefined && isSpanContextValid(caller))
		return (caller.traceFlags & TraceFlags.SAMPLED) !== 0;
	return random() < share;
}
