import {
	type Check,
	checkOptions,
	oneOf,
	optional,
} from "@snakepit/core/options";
import { CallHistograms } from "./call-histograms.ts";
import { CallMetricsProducer } from "./call-metrics-producer.ts";
import {
	CUMULATIVE,
	DELTA,
	type MetricProducerLike,
} from "./metric-producer.ts";

/** How the histograms of calls are reported. */
export interface CallMetricsOptions {
	/**
	 * `"delta"`: counts since the last collection; set it if the exporter uses delta for other histograms. By default the
	 * value of `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`, which OTLP exporters read too, otherwise
	 * `"cumulative"`, which Prometheus needs.
	 */
	readonly temporality?: "cumulative" | "delta" | undefined;
}

export const CALL_METRICS_CHECKS: Readonly<
	Record<keyof CallMetricsOptions, Check>
> = { temporality: optional(oneOf("cumulative", "delta")) };

/** One for all pools of the program, like everything that is registered with OpenTelemetry's API. */
let registered: CallHistograms | undefined;

/**
 * Aggregates the durations of calls here, much faster than the SDK does, and gives them to a reader of the SDK: `new
 * PeriodicExportingMetricReader({ exporter, metricProducers: [callMetrics()] })`. Each reader needs its own, created
 * before the first pool. Views do not see these metrics, and they have no minimum and maximum. Pools whose `telemetry`
 * has its own `meterProvider` are measured there.
 *
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`.
 */
export function callMetrics(
	options: CallMetricsOptions = {},
): MetricProducerLike {
	checkOptions("callMetrics", options, CALL_METRICS_CHECKS);
	registered ??= new CallHistograms();
	const { temporality = preferred() } = options;
	return new CallMetricsProducer(
		registered,
		temporality === "delta" ? DELTA : CUMULATIVE,
	);
}

/** `undefined` if no reader has them. */
export function registeredCallHistograms(): CallHistograms | undefined {
	return registered;
}

/** Source: OpenTelemetry, specification of the OTLP metrics exporter. Histograms are deltas in both. */
function preferred(): "cumulative" | "delta" {
	const preference =
		process.env["OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"];
	return /^(delta|lowmemory)$/i.test(preference?.trim() ?? "")
		? "delta"
		: "cumulative";
}
