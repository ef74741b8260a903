import type { MetricName } from "./catalogue/metrics.ts";
import { METRICS } from "./catalogue/metrics.ts";

/** How a metric reaches Prometheus; this determines its name there. */
export type NamingScheme =
	/** Scraped from `@opentelemetry/exporter-prometheus`: without units. */
	| "exporter"
	/** Sent as OTLP, to Prometheus itself or through the Collector: with units. */
	| "otlp";

const UNITS: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" };

/** The name of a metric in Prometheus; of a histogram without `_bucket`, `_sum` or `_count`. */
export function prometheusName(
	metric: MetricName,
	scheme: NamingScheme,
): string {
	const { kind, unit } = METRICS[metric];
	const name = metric.replaceAll(".", "_");
	const inUnit = scheme === "otlp" ? (UNITS[unit] ?? "") : "";
	const total =
		kind === "counter" || kind === "observed counter" ? "_total" : "";
	return `${name}${inUnit}${total}`;
}
