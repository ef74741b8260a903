import {
	AggregationTemporality,
	InMemoryMetricExporter,
	MeterProvider,
	PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import type { CallMeasures } from "@snakepit/core/instrument";
import { expect, test } from "vitest";
import { METRICS, SCOPE } from "../../src/index.ts";
import { Drops, Limits } from "../../src/limits.ts";
import { CallHistograms, CallMetrics } from "../../src/metrics/call-metrics.ts";
import {
	CallMetricsProducer,
	CUMULATIVE,
	type HistogramPoint,
	type Temporality,
} from "../../src/metrics/call-metrics-reader.ts";
import { Commands } from "../../src/options.ts";

const POOL = { "snakepit.pool.name": "python" };
const ECHO = { ...POOL, "snakepit.command": "echo" };

function measuresOf(pool: string, histograms: CallHistograms): CallMeasures {
	return new CallMetrics(pool, {
		limits: new Limits(new Drops()),
		commands: new Commands({ silent: { metrics: false } }),
		recorder: (name, attributes) => histograms.series(name, attributes),
		failed: () => {},
	});
}

/** One reader, with a clock. */
class Reader {
	nowMs = Date.now() + 1_000;
	readonly #producer: CallMetricsProducer;

	constructor(histograms: CallHistograms, temporality: Temporality) {
		this.#producer = new CallMetricsProducer(
			histograms,
			temporality,
			() => this.nowMs,
		);
	}

	async points(name: string): Promise<readonly HistogramPoint[]> {
		const { resourceMetrics, errors } = await this.#producer.collect();
		expect(errors).toEqual([]);
		const [scope] = resourceMetrics.scopeMetrics;
		expect(scope?.scope).toEqual(SCOPE);
		const metric = scope?.metrics.find(
			({ descriptor }) => descriptor.name === name,
		);
		return metric?.dataPoints ?? [];
	}

	/** Of `snakepit.call.duration`. */
	async counts(): Promise<readonly number[]> {
		const points = await this.points("snakepit.call.duration");
		return points.map(({ value }) => value.count);
	}
}

const millis = ([seconds, nanoseconds]: readonly [number, number]): number =>
	seconds * 1_000 + nanoseconds / 1_000_000;

test("calls are counted in the buckets of the SDK, by pool, command, outcome and error", async () => {
	const histograms = new CallHistograms();
	const reader = new Reader(histograms, CUMULATIVE);
	const python = measuresOf("python", histograms);
	const began = Date.now();
	for (const ms of [0, 0.5, 0.51, 3_600_000])
		python.settled("echo", "succeeded", undefined, ms);
	python.settled("echo", "failed", "WORKER_EXITED", 20);
	python.settled("silent", "succeeded", undefined, 1);
	measuresOf("other", histograms).settled("echo", "succeeded", undefined, 1);
	for (const none of [Number.NaN, -1])
		python.settled("echo", "succeeded", undefined, none);
	const [succeeded, failed, other, ...more] = await reader.points(
		"snakepit.call.duration",
	);
	expect(more).toEqual([]);
	expect(succeeded?.attributes).toEqual({
		...ECHO,
		"snakepit.call.outcome": "succeeded",
	});
	const { boundaries, counts } = succeeded?.value.buckets ?? {};
	expect(boundaries).toEqual(METRICS["snakepit.call.duration"].buckets);
	// A bucket has its upper boundary; the last one is for what is above all of them.
	expect(counts?.slice(0, 3)).toEqual([2, 1, 0]);
	expect(counts?.at(-1)).toBe(1);
	expect(counts).toHaveLength((boundaries?.length ?? 0) + 1);
	expect(succeeded?.value).toMatchObject({ count: 4 });
	expect(succeeded?.value.sum).toBeCloseTo(3_600.00101, 9);
	expect(millis(succeeded?.startTime ?? [0, 0])).toBeGreaterThanOrEqual(began);
	expect(millis(succeeded?.endTime ?? [0, 0])).toBe(reader.nowMs);
	expect(failed?.attributes).toEqual({
		...ECHO,
		"snakepit.call.outcome": "failed",
		"error.type": "WORKER_EXITED",
	});
	expect(other?.attributes["snakepit.pool.name"]).toBe("other");
});

test("count, sum and buckets are those that the SDK makes of the same calls", async () => {
	const histograms = new CallHistograms();
	const exporter = new InMemoryMetricExporter(
		AggregationTemporality.CUMULATIVE,
	);
	const meters = new MeterProvider({
		readers: [
			new PeriodicExportingMetricReader({
				exporter,
				exportIntervalMillis: 3_600_000,
			}),
		],
	});
	const { buckets: advised = [], unit } = METRICS["snakepit.call.duration"];
	const histogram = meters.getMeter("test").createHistogram("theirs", {
		unit,
		advice: { explicitBucketBoundaries: [...advised] },
	});
	const ours = histograms.series("snakepit.call.duration", POOL);
	const values = [0, Number.NaN, 1e9, ...advised].flatMap((value) =>
		[0, -Number.EPSILON, Number.EPSILON, 0.01, -0.01].map(
			(more) => value * (1 + more),
		),
	);
	for (const value of values) {
		ours.record(value);
		histogram.record(value, POOL);
	}
	await meters.forceFlush();
	const [metric] = exporter.getMetrics()[0]?.scopeMetrics[0]?.metrics ?? [];
	const reader = new Reader(histograms, CUMULATIVE);
	const [point] = await reader.points("snakepit.call.duration");
	expect(metric?.dataPoints[0]?.value).toMatchObject(point?.value ?? {});
	expect(point?.value.count).toBe(5 * (advised.length + 2));
	await meters.shutdown();
});

test("beyond 2,000 series the others are one, as in the SDK", async () => {
	const histograms = new CallHistograms();
	for (let index = 0; index < 2_003; index++)
		measuresOf(`p${index}`, histograms).dispatched("echo", 1);
	const points = await new Reader(histograms, CUMULATIVE).points(
		"snakepit.call.wait_time",
	);
	expect(points).toHaveLength(2_001);
	expect(points.at(-1)).toMatchObject({
		attributes: { "otel.metric.overflow": true },
		value: { count: 3 },
	});
});
