/** The value below which so many percent of the samples are; the samples get sorted. */
export function percentile(samples: Float64Array, percent: number): number {
	const sorted = samples.sort();
	const at = Math.ceil((percent / 100) * sorted.length) - 1;
	return sorted[Math.max(0, at)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
	return percentile(Float64Array.from(values), 50);
}
