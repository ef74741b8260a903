import { type HrTime, ValueType } from "@opentelemetry/api";
import {
	type Check,
	checkOptions,
	oneOf,
	optional,
} from "@snakepit/core/options";
import { SCOPE, type Scope } from "../catalogue/attributes.ts";
import { METRICS } from "../catalogue/metrics.ts";
import {
	CALL_METRICS,
	CallHistograms,
	type CallMetricName,
	type HistogramSeries,
} from "./call-metrics.ts";

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

/** The state of a series when it was last collected. */
interface Collected {
	readonly counts: Float64Array;
	readonly sum: number;
}

/** Gives one reader the histograms of calls: in total, or since its last collection. */
export class CallMetricsProducer implements MetricProducerLike {
	readonly #histograms: CallHistograms;
	readonly #temporality: Temporality;
	readonly #wall: () => number;
	/** For deltas: the state at the last collection. */
	readonly #before = new Map<HistogramSeries, Collected>();
	#lastMs = 0;

	constructor(
		histograms: CallHistograms,
		temporality: Temporality,
		wall: () => number = Date.now,
	) {
		this.#histograms = histograms;
		this.#temporality = temporality;
		this.#wall = wall;
	}

	async collect(): Promise<CollectedMetrics> {
		const nowMs = this.#wall();
		const metrics = CALL_METRICS.map((name) => this.#collect(name, nowMs));
		this.#lastMs = nowMs;
		return {
			resourceMetrics: {
				resource: undefined as never,
				scopeMetrics: [
					{
						scope: SCOPE,
						metrics: metrics.filter(({ dataPoints }) => dataPoints.length > 0),
					},
				],
			},
			errors: [],
		};
	}

	#collect(name: CallMetricName, nowMs: number): CollectedHistogram {
		const { description, unit } = METRICS[name];
		return {
			descriptor: { name, description, unit, valueType: DOUBLE },
			aggregationTemporality: this.#temporality,
			dataPointType: HISTOGRAM,
			dataPoints: this.#histograms
				.recorded(name)
				.flatMap((series) => this.#point(series, nowMs) ?? []),
		};
	}

	/** `undefined` for a series without a measurement since the last collection. */
	#point(series: HistogramSeries, nowMs: number): HistogramPoint | undefined {
		const { attributes, boundaries, beganMs = nowMs } = series;
		const isDelta = this.#temporality === DELTA;
		const before = isDelta ? this.#before.get(series) : undefined;
		const counts = Array.from(
			series.counts,
			(count, bucket) => count - (before?.counts[bucket] ?? 0),
		);
		const count = counts.reduce((all, each) => all + each);
		if (count === 0) return undefined;
		const sum = series.sum - (before?.sum ?? 0);
		if (isDelta)
			this.#before.set(series, {
				counts: series.counts.slice(),
				sum: series.sum,
			});
		return {
			attributes: attributes as HistogramPoint["attributes"],
			startTime: hrTime(isDelta ? Math.max(beganMs, this.#lastMs) : beganMs),
			endTime: hrTime(nowMs),
			value: { buckets: { boundaries: [...boundaries], counts }, sum, count },
		};
	}
}

/** The part of the SDK's `MetricProducer` that is used here: a reader takes it as one of its `metricProducers`. */
export interface MetricProducerLike {
	collect(): Promise<CollectedMetrics>;
}

export interface CollectedMetrics {
	readonly resourceMetrics: {
		/** A reader expects the type of its own SDK. */
		readonly resource: never;
		readonly scopeMetrics: CollectedScope[];
	};
	readonly errors: unknown[];
}

interface CollectedScope {
	readonly scope: Scope;
	readonly metrics: CollectedHistogram[];
}

/** The SDK's `HistogramMetricData`. */
interface CollectedHistogram {
	readonly descriptor: {
		readonly name: string;
		readonly description: string;
		readonly unit: string;
		readonly valueType: ValueType;
	};
	readonly aggregationTemporality: 0 | 1;
	readonly dataPointType: 0;
	readonly dataPoints: HistogramPoint[];
}

export interface HistogramPoint {
	readonly startTime: HrTime;
	readonly endTime: HrTime;
	/** The two major versions of the API name the type of a value differently. */
	readonly attributes: { [name: string]: string | number | boolean };
	readonly value: {
		readonly buckets: { boundaries: number[]; counts: number[] };
		readonly sum: number;
		readonly count: number;
	};
}

/** The values of the SDK's enumerations `DataPointType` and `AggregationTemporality`. */
const HISTOGRAM = 0;
export const DELTA = 0;
export const CUMULATIVE = 1;

export type Temporality = typeof DELTA | typeof CUMULATIVE;

const DOUBLE: ValueType = ValueType.DOUBLE;

/** A time in OpenTelemetry's form: seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
	const seconds = Math.trunc(ms / 1_000);
	return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}
