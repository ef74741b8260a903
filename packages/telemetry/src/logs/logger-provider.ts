import type { Context } from "@opentelemetry/api";
import * as api from "@opentelemetry/api";
import { registeredApi } from "../registered-api.ts";

/**
 * The part of OpenTelemetry's logs API that is used here: `@opentelemetry/api` has it
 * only from 1.10 on.
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

/** From 1.10 on. */
interface ApiWithLogs {
	readonly logs?: { getLoggerProvider(): LoggerProviderLike };
}

/**
 * The registered provider; `undefined` while there is none. SDK 2 registers it with `@opentelemetry/api-logs`,
 * whichever version of `@opentelemetry/api` is installed.
 */
export function registeredLogs(): LoggerProviderLike | undefined {
	return logsOfApi() ?? logsOfApiLogs();
}

function logsOfApi(): LoggerProviderLike | undefined {
	const { logs } = api as ApiWithLogs;
	if (logs === undefined || registeredApi()?.logs === undefined)
		return undefined;
	return logs.getLoggerProvider();
}

/** Source: @opentelemetry/api-logs, internal/global-utils. */
const API_LOGS = Symbol.for("io.opentelemetry.js.api.logs");
/** The version of its interface that is used here; for any other version, it returns a provider that does nothing. */
const API_LOGS_VERSION = 1;

function logsOfApiLogs(): LoggerProviderLike | undefined {
	const { [API_LOGS]: provider } = globalThis as {
		[API_LOGS]?: (version: number) => LoggerProviderLike | undefined;
	};
	return typeof provider === "function"
		? provider(API_LOGS_VERSION)
		: undefined;
}
