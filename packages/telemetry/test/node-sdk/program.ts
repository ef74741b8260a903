import type { ServerResponse } from "node:http";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import {
	AggregationTemporality,
	InMemoryMetricExporter,
	PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { python } from "@snakepit/adapter-python";
import { type EventOf, openRun } from "@snakepit/core";
import { callMetrics, telemetry } from "../../src/index.ts";

/** One series of a histogram as a reader exported it. */
export interface ExportedHistogram {
	readonly name: string;
	readonly unit: string;
	readonly isDelta: boolean;
	readonly attributes: Readonly<Record<string, unknown>>;
	readonly count: number;
	readonly sum: number;
	readonly buckets: readonly number[];
	readonly boundaries: readonly number[];
	readonly startMs: number;
	readonly endMs: number;
}

/** What the program tells. */
export interface Export {
	/** What its calls did. */
	readonly settled: readonly EventOf<"call.settled">[];
	/** Of the reader that wants deltas, by export. */
	readonly deltas: readonly (readonly ExportedHistogram[])[];
	/** Of the one that wants totals. */
	readonly totals: readonly (readonly ExportedHistogram[])[];
	/** Of the one that Prometheus scrapes. */
	readonly exposed: string;
}

// A program with OpenTelemetry's NodeSDK, three readers and callMetrics() for each. Its argument is `dataDir`. Prints as
// one line of JSON what its calls did, and what each reader exported of them.

const [, , dataDir = ""] = process.argv;
const never = { exportIntervalMillis: 3_600_000 };

const prometheus = new PrometheusExporter({
	preventServerStart: true,
	metricProducers: [callMetrics()],
});
const delta = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const totals = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const deltaReader = new PeriodicExportingMetricReader({
	...never,
	exporter: delta,
	metricProducers: [callMetrics({ temporality: "delta" })],
});
const sdk = new NodeSDK({
	autoDetectResources: false,
	spanProcessors: [],
	logRecordProcessors: [],
	metricReaders: [
		prometheus,
		deltaReader,
		new PeriodicExportingMetricReader({
			...never,
			exporter: totals,
			metricProducers: [callMetrics()],
		}),
	],
});
sdk.start();

const settled: EventOf<"call.settled">[] = [];
const run = await openRun({ dataDir });
const instruments = [telemetry()];
const open = (name: string) =>
	run.createPool({
		name,
		instruments,
		size: 1,
		onEvent: (event) =>
			void (event.type === "call.settled" && settled.push(event)),
		adapter: python({ tools: new URL("./tools.py", import.meta.url) }),
	});
const first = await open("first");
const second = await open("second");
const failed = () => undefined;
const echo = (pool: typeof first, times: number) =>
	Promise.all(Array.from({ length: times }, () => pool.execute("echo", [1])));

await echo(first, 20);
await echo(second, 5);
await first.execute("boom").catch(failed);
await deltaReader.forceFlush();
await first.execute("die").catch(failed);
await echo(first, 7);
await run.close();
const exposed = await new Promise<string>((resolve) =>
	prometheus.getMetricsRequestHandler(
		{} as never,
		{ setHeader: () => {}, end: resolve } as unknown as ServerResponse,
	),
);
await sdk.shutdown();

const exportsOf = (exporter: InMemoryMetricExporter) =>
	exporter.getMetrics().map(({ scopeMetrics }) =>
		scopeMetrics
			.flatMap(({ metrics }) => metrics)
			.flatMap(({ descriptor, dataPoints, aggregationTemporality }) =>
				dataPoints.flatMap(({ attributes, value, startTime, endTime }) =>
					typeof value === "object" && "buckets" in value
						? {
								...{ name: descriptor.name, unit: descriptor.unit, attributes },
								...{ count: value.count, sum: value.sum ?? Number.NaN },
								isDelta:
									aggregationTemporality === AggregationTemporality.DELTA,
								buckets: value.buckets.counts,
								boundaries: value.buckets.boundaries,
								startMs: startTime[0] * 1e3 + startTime[1] / 1e6,
								endMs: endTime[0] * 1e3 + endTime[1] / 1e6,
							}
						: [],
				),
			),
	);
const told: Export = {
	...{ settled, exposed },
	deltas: exportsOf(delta),
	totals: exportsOf(totals),
};
console.log(JSON.stringify(told));
