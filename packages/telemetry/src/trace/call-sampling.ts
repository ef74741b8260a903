import {
	type Context,
	isSpanContextValid,
	ROOT_CONTEXT,
	TraceFlags,
	trace,
} from "@opentelemetry/api";

/**
 * Whether a call may be traced, before the SDK is asked: as its caller is; outside of a trace as its command says.
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
