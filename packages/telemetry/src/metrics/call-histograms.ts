import { METRICS } from "../catalogue/metrics.ts";
import { HistogramSeries } from "./histogram-series.ts";
import type { MetricAttributes } from "./meters.ts";

/** The metrics that every call is measured by. */
export const CALL_METRICS = [
	"snakepit.call.duration",
	"snakepit.call.wait_time",
	"snakepit.attempt.duration",
] as const;

export type CallMetricName = (typeof CALL_METRICS)[number];

/** As many series of a metric as the SDK keeps by default; the others are one. */
const MOST_SERIES = 2_000;
/** What the SDK gives that one. */
const OVERFLOW = { "otel.metric.overflow": true } as MetricAttributes;

/** The histograms of the calls of all pools of a program. Series stay, as those of the SDK do, also when a pool is gone. */
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
