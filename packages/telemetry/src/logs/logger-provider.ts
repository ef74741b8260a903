import type { Context } from "@opentelemetry/api";
import * as api from "@opentelemetry/api";

/**
 * The logs of OpenTelemetry, as far as they are used here: written down because
 * `@opentelemetry/api` has them from 1.10 on only.
 */
export interface LoggerProviderLike {
	getLogger(name: string, version?: string): LoggerLike;
}

export interface LoggerLike {
	emit(record: LogRecordLike): void;
}

export interface LogRecordLike {
	readonly eventName?: string;
	readonly timestamp?: number;
	readonly severityNumber?: number;
	readonly severityText?: string;
	readonly body?: string;
	// biome-ignore lint/suspicious/noExplicitAny: the two lines of the API name the type of a value differently
	readonly attributes?: any;
	readonly context?: Context;
}

/** The registered provider; `undefined` where the API has no logs. */
export function registeredLogs(): LoggerProviderLike | undefined {
	return (api as { readonly logs?: LoggerProviderLike }).logs;
}
