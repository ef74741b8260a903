import { createHistogram } from "node:perf_hooks";

/** A summary of many durations, in milliseconds. */
export interface DurationSummary {
	readonly count: number;
	readonly minMs: number;
	readonly meanMs: number;
	readonly p50Ms: number;
	readonly p90Ms: number;
	readonly p99Ms: number;
	readonly maxMs: number;
}

const MICROSECONDS = 1_000;

/** Counts durations in constant memory, to three significant digits. */
export class DurationHistogram {
	readonly #histogram = createHistogram({
		lowest: 1,
		highest: 86_400_000 * MICROSECONDS,
		figures: 3,
	});

	record(ms: number): void {
		// The histogram takes whole numbers from 1 on: microseconds, at least one.
		this.#histogram.record(
			Math.min(
				86_400_000 * MICROSECONDS,
				Math.max(1, Math.round(ms * MICROSECONDS)),
			),
		);
	}

	summary(): DurationSummary {
		const h = this.#histogram;
		if (h.count === 0)
			return {
				count: 0,
				minMs: 0,
				meanMs: 0,
				p50Ms: 0,
				p90Ms: 0,
				p99Ms: 0,
				maxMs: 0,
			};
		return {
			count: h.count,
			minMs: h.min / MICROSECONDS,
			meanMs: h.mean / MICROSECONDS,
			p50Ms: h.percentile(50) / MICROSECONDS,
			p90Ms: h.percentile(90) / MICROSECONDS,
			p99Ms: h.percentile(99) / MICROSECONDS,
			maxMs: h.max / MICROSECONDS,
		};
	}
}
