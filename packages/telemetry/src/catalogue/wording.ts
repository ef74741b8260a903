/** A duration as a person reads it, with three digits: `4.26 ms`, `1.14 s`, `3600 s`. */
export function duration(ms: number): string {
	return ms < 1_000 ? `${threeDigits(ms)} ms` : `${threeDigits(ms / 1_000)} s`;
}

function threeDigits(value: number): number {
	return value < 100 ? Number(value.toPrecision(3)) : Math.round(value);
}

/** `1 call`, `2 calls`. */
export function counted(count: number, one: string, many = `${one}s`): string {
	return `${count} ${count === 1 ? one : many}`;
}
