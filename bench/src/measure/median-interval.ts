/** A median, and where that of the population lies with 95 % confidence. */
export interface MedianInterval {
	readonly median: number;
	readonly low: number;
	readonly high: number;
}

/**
 * The interval between two of the values, which assumes nothing of their distribution: load makes a few of them very
 * large. Source: Conover, Practical Nonparametric Statistics, 3.2. Six values at least.
 */
export function medianInterval(values: readonly number[]): MedianInterval {
	if (values.length < 6) throw new RangeError("Six values are needed.");
	const sorted = values.toSorted((a, b) => a - b);
	const middle = sorted.length / 2;
	const reach = (1.96 * Math.sqrt(sorted.length)) / 2;
	const at = (rank: number): number => sorted[rank] ?? Number.NaN;
	const low = Math.max(0, Math.floor(middle - reach));
	return {
		median: (at(Math.ceil(middle) - 1) + at(Math.floor(middle))) / 2,
		low: at(low),
		high: at(sorted.length - 1 - low),
	};
}
