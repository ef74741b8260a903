const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** `1,797` */
export function count(value: number): string {
	return grouped.format(value);
}

/** `1 process`, `2 processes` */
export function counted(value: number, one: string, many = `${one}s`): string {
	return `${count(value)} ${value === 1 ? one : many}`;
}

/** `97.3 %`; rounded, but never up to a hundred. */
export function percent(part: number, whole: number): string {
	if (whole === 0) return "- %";
	const rounded = Math.round((1_000 * part) / whole);
	const shown = part < whole ? Math.min(rounded, 999) : rounded;
	return `${(shown / 10).toFixed(1)} %`;
}

/** `0.4 ms`, `12 ms`, `1.3 s` */
export function duration(ms: number): string {
	if (ms < 9.95) return `${ms.toFixed(1)} ms`;
	if (ms < 999.5) return `${ms.toFixed(0)} ms`;
	return `${(ms / 1_000).toFixed(1)} s`;
}
