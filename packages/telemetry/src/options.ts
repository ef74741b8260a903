import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import { type Check, checkOptions, optional } from "@snakepit/core";
import type { LoggerProviderLike } from "./logs/logger-provider.ts";

/** What is told. Everything is on unless it says otherwise. */
export interface TelemetryOptions {
	/** `false`: nothing at all. */
	readonly enabled?: boolean;
	/** Pings: sent, answered, missed; workers that hang. */
	readonly heartbeatEvents?: boolean;
	/** Pools and workers: starts, ends, clean-up, the ledger. */
	readonly processEvents?: boolean;
	/** What protections do when a host dies. */
	readonly watchdogEvents?: boolean;
	/** Also what workers print and log, as log records. Off by default: it is the tools' own text, and may be told by Python itself. */
	readonly workerLogs?: boolean;
	/** The registered one by default. */
	readonly tracerProvider?: TracerProvider;
	/** The registered one by default. */
	readonly meterProvider?: MeterProvider;
	/**
	 * The registered one by default. With `@opentelemetry/api` before 1.10, which
	 * has no logs: that of `@opentelemetry/api-logs`.
	 */
	readonly loggerProvider?: LoggerProviderLike;
}

export interface ResolvedTelemetryOptions {
	readonly enabled: boolean;
	readonly heartbeatEvents: boolean;
	readonly processEvents: boolean;
	readonly watchdogEvents: boolean;
	readonly workerLogs: boolean;
	readonly tracerProvider: TracerProvider | undefined;
	readonly meterProvider: MeterProvider | undefined;
	readonly loggerProvider: LoggerProviderLike | undefined;
}

const aSwitch: Check = (value) =>
	typeof value === "boolean" ? undefined : "must be true or false";
const has =
	(method: string): Check =>
	(value) =>
		typeof (value as Record<string, unknown> | null)?.[method] === "function"
			? undefined
			: `must be a provider of OpenTelemetry, with ${method}()`;

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function resolveOptions(
	given: TelemetryOptions,
): ResolvedTelemetryOptions {
	checkOptions("telemetry", given, {
		enabled: optional(aSwitch),
		heartbeatEvents: optional(aSwitch),
		processEvents: optional(aSwitch),
		watchdogEvents: optional(aSwitch),
		workerLogs: optional(aSwitch),
		tracerProvider: optional(has("getTracer")),
		meterProvider: optional(has("getMeter")),
		loggerProvider: optional(has("getLogger")),
	});
	return {
		enabled: given.enabled ?? true,
		heartbeatEvents: given.heartbeatEvents ?? true,
		processEvents: given.processEvents ?? true,
		watchdogEvents: given.watchdogEvents ?? true,
		workerLogs: given.workerLogs ?? false,
		tracerProvider: given.tracerProvider,
		meterProvider: given.meterProvider,
		loggerProvider: given.loggerProvider,
	};
}
