import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import { type Check, checkOptions, optional } from "@snakepit/core/options";
import { Commands, type CommandTelemetry } from "./commands.ts";
import type { LoggerProviderLike } from "./logs/logger-provider.ts";

/** What is exported, and through which providers. */
export interface TelemetryOptions {
	/** `false` exports nothing at all. @default true */
	readonly enabled?: boolean | undefined;
	/** Traces, metrics and events of pings and of workers that hang. @default true */
	readonly heartbeatEvents?: boolean | undefined;
	/** Traces, metrics and events of pools and workers: starts, ends, clean-up, the ledger. @default true */
	readonly processEvents?: boolean | undefined;
	/** Traces, metrics and events of protections: their actions when a host dies. @default true */
	readonly watchdogEvents?: boolean | undefined;
	/** Exports what workers print and log, as log records. @default false */
	readonly workerLogs?: boolean | undefined;
	/**
	 * What is exported of calls, by command; `"*"` sets the default for other commands and for fields that an entry leaves
	 * out.
	 */
	readonly commands?: Readonly<Record<string, CommandTelemetry>> | undefined;
	/** Gets spans; the registered provider by default. */
	readonly tracerProvider?: TracerProvider | undefined;
	/** Gets metrics; the registered provider by default. */
	readonly meterProvider?: MeterProvider | undefined;
	/**
	 * Gets log records; by default the provider that is registered with `@opentelemetry/api` 1.10 or newer, else with
	 * `@opentelemetry/api-logs`.
	 */
	readonly loggerProvider?: LoggerProviderLike | undefined;
}

export interface ResolvedTelemetryOptions {
	readonly enabled: boolean;
	readonly heartbeatEvents: boolean;
	readonly processEvents: boolean;
	readonly watchdogEvents: boolean;
	readonly workerLogs: boolean;
	readonly commands: Commands;
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

/** The defaults, and why. */
export const TELEMETRY_DEFAULTS = {
	enabled: { value: true, reason: "you add telemetry in order to export" },
	heartbeatEvents: { value: true, reason: "see `enabled`" },
	processEvents: { value: true, reason: "see `enabled`" },
	watchdogEvents: { value: true, reason: "see `enabled`" },
	workerLogs: {
		value: false,
		reason: "it is the text of the tools, and Python may export it itself",
	},
} as const;

export const TELEMETRY_CHECKS: Readonly<Record<keyof TelemetryOptions, Check>> =
	{
		enabled: optional(aSwitch),
		heartbeatEvents: optional(aSwitch),
		processEvents: optional(aSwitch),
		watchdogEvents: optional(aSwitch),
		workerLogs: optional(aSwitch),
		commands: optional((value) =>
			typeof value === "object" && value !== null && !Array.isArray(value)
				? undefined
				: 'must be an object with an entry by command, or for "*"',
		),
		tracerProvider: optional(has("getTracer")),
		meterProvider: optional(has("getMeter")),
		loggerProvider: optional(has("getLogger")),
	};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function resolveOptions(
	given: TelemetryOptions,
): ResolvedTelemetryOptions {
	checkOptions("telemetry", given, TELEMETRY_CHECKS);
	return {
		enabled: given.enabled ?? TELEMETRY_DEFAULTS.enabled.value,
		heartbeatEvents:
			given.heartbeatEvents ?? TELEMETRY_DEFAULTS.heartbeatEvents.value,
		processEvents:
			given.processEvents ?? TELEMETRY_DEFAULTS.processEvents.value,
		watchdogEvents:
			given.watchdogEvents ?? TELEMETRY_DEFAULTS.watchdogEvents.value,
		workerLogs: given.workerLogs ?? TELEMETRY_DEFAULTS.workerLogs.value,
		commands: new Commands(given.commands ?? {}),
		tracerProvider: given.tracerProvider,
		meterProvider: given.meterProvider,
		loggerProvider: given.loggerProvider,
	};
}
