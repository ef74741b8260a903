import type { SpanContext } from "@opentelemetry/api";
import type { Severity } from "./catalogue/events.ts";

/** Source: OpenTelemetry, semantic conventions for exceptions. */
const OPT_IN = "OTEL_SEMCONV_EXCEPTION_SIGNAL_OPT_IN";

/** Where exceptions of spans are recorded. */
export interface ExceptionSignals {
	/** As events of the span. */
	readonly spanEvents: boolean;
	/** As log records in the context of the span. */
	readonly logs: boolean;
}

/** Returns what the user chose: span events unless the variable has one of its two values. */
export function exceptionSignals(
	env: Readonly<Record<string, string | undefined>> = process.env,
): ExceptionSignals {
	switch (env[OPT_IN]?.trim()) {
		case "logs":
			return { spanEvents: false, logs: true };
		case "logs/dup":
			return { spanEvents: true, logs: true };
		default:
			return { spanEvents: true, logs: false };
	}
}

export type ExceptionRecordName =
	| "rpc.client.call.exception"
	| "rpc.server.call.exception";

export interface ExceptionRecord {
	readonly severity: Severity;
	readonly description: string;
}

/**
 * The log records of exceptions, by event name, with the severity that the conventions for RPC give them. Failed starts
 * have records of their own: `snakepit.worker.start_failed` and `snakepit.pool.start_failed`.
 */
export const EXCEPTION_RECORDS: Readonly<
	Record<ExceptionRecordName, ExceptionRecord>
> = {
	"rpc.client.call.exception": {
		severity: "warn",
		description:
			"An error, in the context of the attempt that failed, or of the call if no attempt began.",
	},
	"rpc.server.call.exception": {
		severity: "error",
		description:
			"What a function of the host threw, in the context of the back-call. A worker whose SDK exports has it for what its tool raised.",
	},
};

/** The attributes of an exception, within the limits. */
export interface ExceptionAttributes {
	readonly "exception.type": string;
	readonly "exception.message": string;
	readonly "exception.stacktrace"?: string;
}

/** Records exceptions of spans as log records, too, or instead. */
export interface Exceptions {
	readonly signals: ExceptionSignals;
	log(
		span: SpanContext,
		name: ExceptionRecordName,
		attributes: ExceptionAttributes,
	): void;
}

/** Exceptions are events of spans, and nothing else. */
export const ON_SPANS: Exceptions = {
	signals: { spanEvents: true, logs: false },
	log: () => {},
};
