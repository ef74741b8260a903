import {
	type Context,
	isSpanContextValid,
	ROOT_CONTEXT,
	TraceFlags,
	trace,
} from "@opentelemetry/api";

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
