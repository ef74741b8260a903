import { quantileMs } from "@snakepit/control";
import { type Bin, sum } from "./samples.ts";

/** Lines over time. `x` is in seconds since the Unix epoch; `null` means no value. */
export interface ChartData {
	readonly labels: readonly string[];
	readonly x: readonly number[];
	readonly lines: readonly (readonly (number | null)[])[];
}

/** How many lines have their own colour. */
const LINES = 8;

/** Calls per second, by command, for the commands with the most calls. */
export function throughputData(bins: readonly Bin[]): ChartData {
	const keys = busiest(bins);
	return data(bins, keys.map(labelOf), (bin) =>
		keys.map((key) => {
			const counts = bin.commands.get(key);
			const calls = (counts?.succeeded ?? 0) + (counts?.failed ?? 0);
			return bin.spanMs > 0 ? (calls * 1_000) / bin.spanMs : null;
		}),
	);
}

const SHARES = [0.5, 0.95, 0.99];

/** Quantiles of the durations of one command, or of all, in milliseconds. */
export function latencyData(
	bins: readonly Bin[],
	key: string | undefined,
): ChartData {
	return data(bins, ["p50", "p95", "p99"], ({ commands }) => {
		const [first, ...rest] = [...commands]
			.filter(([each]) => key === undefined || each === key)
			.map(([, counts]) => counts);
		if (first === undefined) return SHARES.map(() => null);
		const { totalMs } = sum([first, ...rest]);
		return SHARES.map((share) => quantileMs(totalMs, share) ?? null);
	});
}

/** Resident memory by worker, in bytes, for the workers that use the most. */
export function memoryData(bins: readonly Bin[]): ChartData {
	const peaks = new Map<string, number>();
	for (const { memory } of bins)
		for (const [worker, size] of memory)
			peaks.set(worker, Math.max(size, peaks.get(worker) ?? 0));
	const workers = [...peaks]
		.toSorted(([, a], [, b]) => b - a)
		.slice(0, LINES)
		.map(([worker]) => worker)
		.toSorted();
	return data(bins, workers, ({ memory }) =>
		workers.map((worker) => memory.get(worker) ?? null),
	);
}

function data(
	bins: readonly Bin[],
	labels: readonly string[],
	values: (bin: Bin) => readonly (number | null)[],
): ChartData {
	const rows = bins.map(values);
	return {
		labels,
		x: bins.map(({ wallMs }) => wallMs / 1_000),
		lines: labels.map((_, line) => rows.map((row) => row[line] ?? null)),
	};
}

function busiest(bins: readonly Bin[]): readonly string[] {
	const calls = new Map<string, number>();
	for (const { commands } of bins)
		for (const [key, { succeeded, failed }] of commands)
			calls.set(key, (calls.get(key) ?? 0) + succeeded + failed);
	return [...calls]
		.toSorted(([, a], [, b]) => b - a)
		.slice(0, LINES)
		.map(([key]) => key);
}

function labelOf(key: string): string {
	const [, command] = JSON.parse(key) as [string, string];
	return command;
}
