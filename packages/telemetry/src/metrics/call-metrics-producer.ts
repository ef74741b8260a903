import { METRICS } from "../catalogue/metrics.ts";
import { SCOPE } from "../scope.ts";
import {
	CALL_METRICS,
	type CallHistograms,
	type CallMetricName,
} from "./call-histograms.ts";
import type { HistogramSeries } from "./histogram-series.ts";
import {
	type CollectedHistogram,
	type CollectedMetrics,
	DELTA,
	DOUBLE,
	HISTOGRAM,
	type HistogramPoint,
	hrTime,
	type MetricProducerLike,
	type Temporality,
} from "./metric-producer.ts";

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
						scope: { name: SCOPE },
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
