// Makes the dashboard for scraped metrics from that for metrics sent as OTLP, which is edited by
// hand: the same expressions, in which Prometheus has other names for the metrics.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { METRICS, type MetricName, prometheusName } from "@snakepit/telemetry";
import { root } from "./run.ts";

/** The texts that differ besides names of metrics. */
const TEXTS = {
	"snakepit-otlp": "snakepit-exporter",
	"For metrics that are sent as OTLP.":
		"For metrics that are scraped from @opentelemetry/exporter-prometheus. Made from the file for OTLP by `npx pnpm@12 generate`.",
};
/** A histogram is three series. */
const SERIES = ["", "_bucket", "_sum", "_count"];
const LABELS =
	/^snakepit_(pool_name|worker_(id|state|end_reason|end_killer|exit_signal)|call_outcome|command|reason|drop_reason)$/;

const names = new Map<string, string>(
	(Object.keys(METRICS) as MetricName[]).flatMap((metric) =>
		SERIES.map((series) => [
			prometheusName(metric, "otlp") + series,
			prometheusName(metric, "exporter") + series,
		]),
	),
);

const file = (scheme: string): string =>
	join(root, `packages/telemetry/grafana/snakepit.${scheme}.json`);
let text = readFileSync(file("otlp"), "utf8").replace(
	/\bsnakepit_\w+/g,
	(name) => {
		const renamed = LABELS.test(name) ? name : names.get(name);
		if (renamed !== undefined) return renamed;
		throw new Error(
			`${file("otlp")}: ${name} is neither a metric of packages/telemetry/src/catalogue nor one of the labels in scripts/telemetry.ts.`,
		);
	},
);
for (const [otlp, exporter] of Object.entries(TEXTS))
	text = text.replaceAll(otlp, exporter);
writeFileSync(file("exporter"), text);
