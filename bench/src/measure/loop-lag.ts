import { percentile } from "./percentile.ts";

const TICK_MS = 1;

/** Watches how late this process's event loop is, until `stop` is called. */
export function watchLoop(): {
	stop(): { readonly p99Ms: number; readonly maxMs: number };
} {
	const lags: number[] = [];
	let due = performance.now() + TICK_MS;
	const note = (): void => {
		const now = performance.now();
		// A long turn delays every tick that was due in it, not only one.
		for (; due <= now; due += TICK_MS) lags.push(now - due);
	};
	const timer = setInterval(note, TICK_MS);
	return {
		stop: () => {
			note();
			clearInterval(timer);
			const sorted = Float64Array.from(lags);
			return { p99Ms: percentile(sorted, 99), maxMs: sorted.at(-1) ?? 0 };
		},
	};
}
