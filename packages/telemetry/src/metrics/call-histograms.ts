import { METRICS } from "../catalogue/metrics.ts";
import { HistogramSeries } from "./histogram-series.ts";
import type { MetricAttributes } from "./meters.ts";

/** The metrics that measure every call. */
export const CALL_METRICS = [
	"snakepit.call.duration",
	"snakepit.call.wait_time",
	"snakepit.attempt.duration",
] as const;

export type CallMetricName = (typeof CALL_METRICS)[number];

/** The most series of one metric, the same as the SDK's default; all further ones share one series. */
const MOST_SERIES = 2_000;
/** The attributes that the SDK gives that series. */
const OVERFLOW = { "otel.metric.overflow": true } as MetricAttributes;

/** The histograms of the calls of all pools of a program. Like the SDK's, series remain after their pool is gone. */
export class CallHistograms {
	readonly #series: ReadonlyMap<CallMetricName, Map<string, HistogramSeries>> =
		new Map(CALL_METRICS.map((name) => [name, new Map()]));

	/** Returns the series with these attributes, which are given in the same order each time. */
	series(name: CallMetricName, attributes: MetricAttributes): HistogramSeries {
		const all = this.#all(name);
		const key = JSON.stringify(attributes);
		const known = all.get(key);
		if (known !== undefined) return known;
		const fits = attributes === OVERFLOW || all.size < MOST_SERIES;
		if (!fits) return this.series(name, OVERFLOW);
		const made = new HistogramSeries(attributes, METRICS[name].buckets ?? []);
		all.set(key, made);
		return made;
	}

	recorded(name: CallMetricName): readonly HistogramSeries[] {
		return [...this.#all(name).values()].filter(
			({ beganMs }) => beganMs !== undefined,
		);
	}

	#all(name: CallMetricName): Map<string, HistogramSeries> {
		return this.#series.get(name) as Map<string, HistogramSeries>;
	}
}
