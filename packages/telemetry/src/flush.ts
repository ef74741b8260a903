import {
	metrics,
	type ProxyTracerProvider,
	type TracerProvider,
	trace,
} from "@opentelemetry/api";
import { registeredLogs } from "./logs/logger-provider.ts";
import type { ResolvedTelemetryOptions } from "./options.ts";

/** What the providers of an SDK offer beside the API. */
interface Flushing {
	forceFlush?(): Promise<void>;
}

/** Has the SDK send what it holds: traces, metrics and logs, each whatever becomes of the others. */
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

/** The API registers a provider of its own, behind which the SDK's is. */
function behind(registered: TracerProvider): TracerProvider {
	const proxy = registered as Partial<ProxyTracerProvider>;
	return proxy.getDelegate?.() ?? registered;
}
