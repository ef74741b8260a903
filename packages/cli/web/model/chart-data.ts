import {
	addCounts,
	bucketStartMs,
	type DurationCounts,
	quantileMs,
	type ServedTick,
} from "@snakepit/control";

/** The data of a short time, which is one point of a chart. */
export interface Bin {
	/** When it began, in milliseconds since the Unix epoch. */
	readonly wallMs: number;
	/** How much of it was observed. */
	readonly spanMs: number;
	/** By pool and command. */
	readonly commands: ReadonlyMap<string, CommandCounts>;
	/** Resident bytes by worker, from the last reading. */
	readonly memory: ReadonlyMap<string, number>;
}

interface CommandCounts {
	readonly pool: string;
	readonly command: string;
	readonly succeeded: number;
	readonly failed: number;
	readonly totalMs: DurationCounts;
}

const BIN_MS = 2_000;
/** 15 minutes. */
const BINS = 450;

/** Adds what a tick reports. Returns new samples; at most those of 15 minutes. */
export function withSample(
	bins: readonly Bin[],
	{ run, tickMs, throughput }: ServedTick,
): readonly Bin[] {
	const last = bins.at(-1);
	// Somebody may have set the clock back.
	const isSame =
		last !== undefined && Math.abs(run.wallMs - last.wallMs) < BIN_MS;
	const before: Bin = isSame
		? last
		: { wallMs: run.wallMs, spanMs: 0, commands: new Map(), memory: new Map() };
	const commands = new Map(before.commands);
	for (const each of throughput) {
		const key = commandKey(each.pool, each.command);
		const known = commands.get(key);
		commands.set(key, known === undefined ? each : sum([known, each]));
	}
	const memory = new Map(before.memory);
	for (const { workers } of run.pools)
		for (const { workerId, usage } of workers)
			if (usage !== null) memory.set(workerId, usage.residentBytes);
	const bin = { ...before, spanMs: before.spanMs + tickMs, commands, memory };
	return [...(isSame ? bins.slice(0, -1) : bins), bin].slice(-BINS);
}

function commandKey(pool: string, command: string): string {
	return JSON.stringify([pool, command]);
}

/** Adds up counts of one command. */
function sum(all: readonly [CommandCounts, ...CommandCounts[]]): CommandCounts {
	return {
		pool: all[0].pool,
		command: all[0].command,
		succeeded: all.reduce((total, { succeeded }) => total + succeeded, 0),
		failed: all.reduce((total, { failed }) => total + failed, 0),
		totalMs: addCounts(...all.map(({ totalMs }) => totalMs)),
	};
}

/** The bins of the last `windowMs` milliseconds. */
export function latest(bins: readonly Bin[], windowMs: number): readonly Bin[] {
	const end = bins.at(-1)?.wallMs ?? 0;
	return bins.filter(({ wallMs }) => wallMs > end - windowMs);
}

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
