import type { MetricAttributes } from "./meters.ts";

/** The measurements of one series of a histogram since its first one. */
export class HistogramSeries {
	readonly attributes: MetricAttributes;
	readonly boundaries: readonly number[];
	/** How many measurements each bucket has; the last bucket has those above all boundaries. */
	readonly counts: Float64Array;
	sum = 0;
	/** When it was first recorded, in milliseconds since the Unix epoch; `undefined` before. */
	beganMs: number | undefined;

	constructor(attributes: MetricAttributes, boundaries: readonly number[]) {
		this.attributes = attributes;
		this.boundaries = boundaries;
		this.counts = new Float64Array(boundaries.length + 1);
	}

	/** As in the SDK, a bucket includes its upper boundary, and a value that is not a number is left out. */
	record(seconds: number): void {
		if (!(seconds >= 0)) return;
		this.beganMs ??= Date.now();
		const { boundaries, counts } = this;
		let bucket = 0;
		// Most calls are short: their bucket is among the first.
		while (seconds > (boundaries[bucket] as number)) bucket++;
		counts[bucket] = (counts[bucket] as number) + 1;
		this.sum += seconds;
	}
}
