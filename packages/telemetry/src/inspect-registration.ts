import type { LayerReport } from "@snakepit/core/protection";
import { registeredLogs } from "./logs/logger-provider.ts";
import type { ResolvedTelemetryOptions } from "./options.ts";
import { registeredApi } from "./registered-api.ts";
import { refused } from "./registration.ts";

const LAYER = "telemetry";

/** Says what would be exported if a pool were made now. */
export function inspectRegistration({
	enabled,
	tracerProvider,
	meterProvider,
	loggerProvider,
}: ResolvedTelemetryOptions): LayerReport {
	if (!enabled)
		return { layer: LAYER, status: "available", detail: "is switched off" };
	const problem = refused({ tracerProvider, meterProvider });
	if (problem !== undefined)
		return {
			layer: LAYER,
			status: "unavailable",
			detail: problem.message,
			remedy: problem.remedy,
		};
	const registered = registeredApi();
	const signals = {
		traces: tracerProvider ?? registered?.trace,
		metrics: meterProvider ?? registered?.metrics,
		"log records": loggerProvider ?? registeredLogs(),
	};
	const names = Object.keys(signals) as (keyof typeof signals)[];
	const exported = names.filter((name) => signals[name] !== undefined);
	if (exported.length === 0)
		return {
			layer: LAYER,
			status: "available",
			detail: "no OpenTelemetry SDK is registered in this program",
			remedy:
				"Register one before the first createPool, best in a file of its own: node --import ./instrumentation.js program.js.",
		};
	const missing = names.filter((name) => signals[name] === undefined);
	return {
		layer: LAYER,
		status: "active",
		detail: `a provider is registered for ${exported.join(", ")}${missing.length === 0 ? "" : `; none for ${missing.join(", ")}`}`,
	};
}
