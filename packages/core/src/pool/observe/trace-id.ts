import type { Call } from "../calls/call.ts";

/** A W3C `traceparent`: version, trace, span, flags. A trace of zeros is invalid. */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-/;

/** The trace that a call is part of: as an instrument knows it, or else its caller. */
export function traceIdOf({
	instrument,
	traceContext,
}: Pick<Call, "instrument" | "traceContext">): string | undefined {
	return (
		instrument?.traceId ??
		TRACEPARENT.exec(traceContext["traceparent"] ?? "")?.[1]
	);
}
