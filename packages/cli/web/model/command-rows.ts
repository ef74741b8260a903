import {
	bucketStartMs,
	type DurationCounts,
	quantileMs,
} from "@snakepit/control";
import { type Bin, type CommandCounts, commandKey, sum } from "./samples.ts";

/** The calls of one command in a window. */
export interface CommandRow {
	readonly key: string;
	readonly command: string;
	readonly calls: number;
	readonly perSecond: number;
	readonly failed: number;
	/** From acceptance to settlement, in milliseconds; `undefined` without calls. */
	readonly p50: number | undefined;
	readonly p95: number | undefined;
	readonly p99: number | undefined;
	readonly histogram: readonly HistogramBar[];
}

/** Calls that took from `fromMs` to `toMs`. */
export interface HistogramBar {
	readonly fromMs: number;
	readonly toMs: number;
	readonly calls: number;
}

/** The commands whose calls ended in these bins, most calls first. */
export function commandRows(bins: readonly Bin[]): readonly CommandRow[] {
	const spanMs = bins.reduce((total, bin) => total + bin.spanMs, 0);
	const byCommand = new Map<string, CommandCounts[]>();
	for (const { commands } of bins)
		for (const counts of commands.values()) {
			const key = commandKey(counts.pool, counts.command);
			const known = byCommand.get(key);
			if (known === undefined) byCommand.set(key, [counts]);
			else known.push(counts);
		}
	return [...byCommand.entries()]
		.map(([key, all]) => row(key, sum(all as [CommandCounts]), spanMs))
		.toSorted((a, b) => b.calls - a.calls || a.key.localeCompare(b.key));
}

function row(
	key: string,
	{ command, succeeded, failed, totalMs }: CommandCounts,
	spanMs: number,
): CommandRow {
	const calls = succeeded + failed;
	return {
		...{ key, command, calls, failed },
		perSecond: spanMs > 0 ? (calls * 1_000) / spanMs : 0,
		p50: quantileMs(totalMs, 0.5),
		p95: quantileMs(totalMs, 0.95),
		p99: quantileMs(totalMs, 0.99),
		histogram: histogram(totalMs),
	};
}

const BARS = 24;

/** At most 24 bars of equal width on a logarithmic scale, from the shortest call to the longest. */
export function histogram(counts: DurationCounts): readonly HistogramBar[] {
	if (counts.length === 0) return [];
	const buckets = counts.map(([bucket]) => bucket);
	const first = Math.min(...buckets);
	const last = Math.max(...buckets);
	const width = Math.ceil((last - first + 1) / BARS);
	const bars = Math.ceil((last - first + 1) / width);
	const calls = new Array<number>(bars).fill(0);
	for (const [bucket, count] of counts) {
		const bar = Math.floor((bucket - first) / width);
		calls[bar] = (calls[bar] ?? 0) + count;
	}
	return calls.map((count, bar) => ({
		fromMs: bucketStartMs(first + bar * width),
		toMs: bucketStartMs(first + (bar + 1) * width),
		calls: count,
	}));
}
