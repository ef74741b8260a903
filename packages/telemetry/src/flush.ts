import {
	metrics,
	type ProxyTracerProvider,
	type TracerProvider,
	trace,
} from "@opentelemetry/api";
import { registeredLogs } from "./logs/logger-provider.ts";
import type { ResolvedTelemetryOptions } from "./options.ts";

/** The methods that an SDK's providers have in addition to the API. */
interface Flushing {
	forceFlush?(): Promise<void>;
}

/** Flushes the SDK: traces, metrics and logs, each even if another one fails. */
export async function flush(
	providers: Pick<
		ResolvedTelemetryOptions,
		"tracerProvider" | "meterProvider" | "loggerProvider"
	>,
): Promise<void> {
	const all: readonly unknown[] = [
		providers.tracerProvider ?? behind(trace.getTracerProvider()),
		providers.meterProvider ?? metrics.getMeterProvider(),
		providers.loggerProvider ?? registeredLogs(),
	];
	await Promise.allSettled(
		all.map(async (provider) =>
			(provider as Flushing | undefined)?.forceFlush?.(),
		),
	);
}

/** The API registers a proxy of the SDK's provider. */
function behind(registered: TracerProvider): TracerProvider {
	const proxy = registered as Partial<ProxyTracerProvider>;
	return proxy.getDelegate?.() ?? registered;
}
