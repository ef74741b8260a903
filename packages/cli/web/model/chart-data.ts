import { bucketStartMs, type ServedTick } from "@snakepit/control";

/** The data of a short time, which is one point of a chart. There are thousands: their figures are in few bytes. */
export interface Bin {
	/** When it began, in milliseconds since the Unix epoch. */
	readonly wallMs: number;
	/** How much of it was observed. */
	readonly spanMs: number;
	/**
	 * For each command with calls that ended: its number, how many succeeded, how many failed, and in how many buckets
	 * their durations are; then for each bucket its number, and how many calls are in it.
	 */
	readonly calls: Uint32Array;
	/** Resident bytes by number of the worker, from the last reading; `NaN` where there is none. */
	readonly memory: Float64Array;
}

/** A command of a pool. */
export interface Command {
	readonly pool: string;
	readonly command: string;
}

/** What the page keeps for its charts: the latest minutes finely, the last hours and the last day coarsely. */
export interface ChartHistory {
	/** Their numbers are their places. */
	readonly commands: readonly Command[];
	/** Likewise. */
	readonly workers: readonly string[];
	/** Oldest bin first; as many as `TIERS`. */
	readonly tiers: readonly (readonly Bin[])[];
}

interface Tier {
	readonly binMs: number;
	readonly bins: number;
}

/** The finest first: a second for 15 minutes, 15 seconds for 3 hours, 2 minutes for a day. */
export const TIERS: readonly Tier[] = [
	{ binMs: 1_000, bins: 900 },
	{ binMs: 15_000, bins: 720 },
	{ binMs: 120_000, bins: 720 },
];
/** The most commands that are counted separately; later ones are counted together. */
export const COMMANDS = 64;
/** Of so many workers the memory is kept: those that were seen first. */
export const WORKERS = 64;
const OTHERS: Command = { pool: "", command: "(other commands)" };

export const NO_HISTORY: ChartHistory = {
	...{ commands: [OTHERS], workers: [], tiers: TIERS.map(() => []) },
};

/** Adds what a tick reports. */
export function withSample(
	history: ChartHistory,
	{ run, tickMs, throughput }: ServedTick,
): ChartHistory {
	const commands = [...history.commands];
	const workers = [...history.workers];
	const counts = new CallCounts();
	for (const { pool, command, succeeded, failed, totalMs } of throughput) {
		const sum = counts.of(numberOf(commands, COMMANDS, { pool, command }));
		sum.succeeded += succeeded;
		sum.failed += failed;
		for (const [bucket, calls] of totalMs) sum.add(bucket, calls);
	}
	const memory: number[] = [];
	for (const { workerId, usage } of run.pools.flatMap((pool) => pool.workers)) {
		if (usage === null) continue;
		const known = workers.indexOf(workerId);
		const number = known === -1 ? workers.length : known;
		if (number >= WORKERS) continue;
		if (known === -1) workers.push(workerId);
		memory[number] = usage.residentBytes;
	}
	const sample: Bin = {
		...{ wallMs: run.wallMs, spanMs: tickMs, calls: counts.packed() },
		memory: Float64Array.from(memory, (bytes = Number.NaN) => bytes),
	};
	return {
		...{ commands, workers },
		tiers: TIERS.map((tier, index) =>
			withBin(tier, history.tiers[index] ?? [], sample),
		),
	};
}

/** The number of a command; 0 stands for all that have none. */
function numberOf(known: Command[], most: number, wanted: Command): number {
	const number = known.findIndex(
		({ pool, command }) => pool === wanted.pool && command === wanted.command,
	);
	if (number !== -1) return number;
	return known.length <= most ? known.push(wanted) - 1 : 0;
}

function withBin(
	{ binMs, bins: most }: Tier,
	bins: readonly Bin[],
	sample: Bin,
): readonly Bin[] {
	const last = bins.at(-1);
	// Somebody may have set the clock back.
	if (last === undefined || Math.abs(sample.wallMs - last.wallMs) >= binMs)
		return [...bins, sample].slice(-most);
	const spanMs = last.spanMs + sample.spanMs;
	const calls =
		sample.calls.length === 0
			? last.calls
			: new CallCounts().addAll(last).addAll(sample).packed();
	const memory = Float64Array.from(
		{ length: Math.max(last.memory.length, sample.memory.length) },
		(_, worker) => {
			const latest = sample.memory[worker] ?? Number.NaN;
			return Number.isNaN(latest)
				? (last.memory[worker] ?? Number.NaN)
				: latest;
		},
	);
	return [...bins.slice(0, -1), { ...last, spanMs, calls, memory }];
}

/** Buckets of durations: the last one begins at more than ten days. */
const BUCKETS = 328;

/** The calls of one command that have ended. */
class CommandCounts {
	succeeded = 0;
	failed = 0;
	/** Calls by bucket. */
	readonly durations: Uint32Array = new Uint32Array(BUCKETS);

	add(bucket: number, calls: number): void {
		const known = Math.min(bucket, BUCKETS - 1);
		this.durations[known] = (this.durations[known] ?? 0) + calls;
	}

	clear(): void {
		this.succeeded = 0;
		this.failed = 0;
		this.durations.fill(0);
	}

	/** The duration that the given share of all is below, in milliseconds; `undefined` if there are none. */
	quantileMs(share: number): number | undefined {
		const { durations } = this;
		const calls = durations.reduce((sum, each) => sum + each, 0);
		if (calls === 0) return undefined;
		let left = Math.max(1, Math.ceil(calls * share));
		const bucket = durations.findIndex((each) => {
			left -= each;
			return left <= 0;
		});
		return bucketStartMs(bucket + 1);
	}
}

/** Adds up calls that have ended, by command. */
class CallCounts {
	readonly byCommand: Map<number, CommandCounts> = new Map();

	of(number: number): CommandCounts {
		const known = this.byCommand.get(number);
		if (known !== undefined) return known;
		const counts = new CommandCounts();
		this.byCommand.set(number, counts);
		return counts;
	}

	/** Adds those of a bin. @param into which counts a command is added to; `undefined` leaves it out. */
	addAll(
		{ calls }: Bin,
		into: (number: number) => CommandCounts | undefined = (number) =>
			this.of(number),
	): this {
		for (let at = 0; at < calls.length; at += lengthAt(calls, at)) {
			const counts = into(calls[at] ?? 0);
			if (counts === undefined) continue;
			counts.succeeded += calls[at + 1] ?? 0;
			counts.failed += calls[at + 2] ?? 0;
			const end = at + lengthAt(calls, at);
			for (let pair = at + HEAD; pair < end; pair += 2)
				counts.add(calls[pair] ?? 0, calls[pair + 1] ?? 0);
		}
		return this;
	}

	packed(): Uint32Array {
		const packed: number[] = [];
		for (const [number, { succeeded, failed, durations }] of this.byCommand) {
			const start = packed.push(number, succeeded, failed, 0);
			durations.forEach((calls, bucket) => {
				if (calls > 0) packed.push(bucket, calls);
			});
			packed[start - 1] = (packed.length - start) / 2;
		}
		return Uint32Array.from(packed);
	}
}

/** The figures of a command before its buckets. */
const HEAD = 4;

/** How many figures the command has that begins here. */
function lengthAt(calls: Uint32Array, at: number): number {
	return HEAD + 2 * (calls[at + 3] ?? 0);
}

/** How many calls ended, by command. */
function endedIn({ calls }: Bin): ReadonlyMap<number, number> {
	const ended = new Map<number, number>();
	for (let at = 0; at < calls.length; at += lengthAt(calls, at))
		ended.set(calls[at] ?? 0, (calls[at + 1] ?? 0) + (calls[at + 2] ?? 0));
	return ended;
}

/** A window of the history. */
export interface ChartWindow {
	readonly bins: readonly Bin[];
	readonly binMs: number;
	readonly history: ChartHistory;
	/** `undefined`: all pools. */
	readonly pool: string | undefined;
}

/** The bins of the last `windowMs` milliseconds, as fine as they are kept for so long. */
export function windowOf(
	history: ChartHistory,
	windowMs: number,
	pool?: string,
): ChartWindow {
	const index = TIERS.findIndex(({ binMs, bins }) => binMs * bins >= windowMs);
	const tier = index === -1 ? TIERS.length - 1 : index;
	const all = history.tiers[tier] ?? [];
	const end = all.at(-1)?.wallMs ?? 0;
	return {
		bins: all.filter(({ wallMs }) => wallMs > end - windowMs),
		binMs: TIERS[tier]?.binMs ?? 0,
		...{ history, pool },
	};
}

/** Lines over time. `x` is in seconds since the Unix epoch; `null` means no value. */
export interface ChartData {
	readonly labels: readonly string[];
	readonly x: readonly number[];
	readonly lines: readonly (readonly (number | null)[])[];
}

/** How many lines have their own colour. */
const LINES = 8;

/** Calls per second, by command. @param rows of the window; those with the most calls are shown. */
export function throughputData(
	window: ChartWindow,
	rows: readonly CommandRow[],
): ChartData {
	const shown = rows.slice(0, LINES);
	const labels = shown.map(({ name }) => name);
	return data(window, labels, (bin) => {
		const ended = endedIn(bin);
		return shown.map(({ number }) =>
			bin.spanMs > 0 ? ((ended.get(number) ?? 0) * 1_000) / bin.spanMs : null,
		);
	});
}

const SHARES = [0.5, 0.95, 0.99];

/** Quantiles of the durations of one command, or of all that are shown, in milliseconds. */
export function latencyData(
	window: ChartWindow,
	number: number | undefined,
): ChartData {
	const sum = new CommandCounts();
	return data(window, ["p50", "p95", "p99"], (bin) => {
		sum.clear();
		new CallCounts().addAll(bin, (each) =>
			(number === undefined ? isShown(window, each) : each === number)
				? sum
				: undefined,
		);
		return SHARES.map((share) => sum.quantileMs(share) ?? null);
	});
}

/** Resident memory by worker, in bytes, for the workers that use the most. */
export function memoryData(
	window: ChartWindow,
	workerIds: readonly string[] | undefined,
): ChartData {
	const { history, bins } = window;
	const peaks = history.workers.map((workerId, worker) => {
		const isWanted = workerIds === undefined || workerIds.includes(workerId);
		const peak = bins.reduce((most, { memory }) => {
			const bytes = memory[worker] ?? Number.NaN;
			return Number.isNaN(bytes) ? most : Math.max(most, bytes);
		}, 0);
		return { worker, workerId, peak: isWanted ? peak : 0 };
	});
	const shown = peaks
		.filter(({ peak }) => peak > 0)
		.toSorted((a, b) => b.peak - a.peak)
		.slice(0, LINES)
		.toSorted((a, b) => a.worker - b.worker);
	const labels = shown.map(({ workerId }) => workerId);
	return data(window, labels, ({ memory }) =>
		shown.map(({ worker }) => {
			const bytes = memory[worker] ?? Number.NaN;
			return Number.isNaN(bytes) ? null : bytes;
		}),
	);
}

/** A line is interrupted where nothing was observed for longer than this, in bins, */
const GAP_BINS = 3;
/** and in milliseconds: a tick may be late. */
const GAP_MS = 5_000;

function data(
	{ bins, binMs }: ChartWindow,
	labels: readonly string[],
	values: (bin: Bin) => readonly (number | null)[],
): ChartData {
	const x: number[] = [];
	const rows: (readonly (number | null)[])[] = [];
	let lastMs: number | undefined;
	for (const bin of bins) {
		if (
			lastMs !== undefined &&
			bin.wallMs - lastMs > Math.max(GAP_BINS * binMs, GAP_MS)
		) {
			x.push((lastMs + binMs) / 1_000);
			rows.push([]);
		}
		x.push(bin.wallMs / 1_000);
		rows.push(values(bin));
		lastMs = bin.wallMs;
	}
	return {
		...{ labels, x },
		lines: labels.map((_, line) => rows.map((row) => row[line] ?? null)),
	};
}

function isShown({ history, pool }: ChartWindow, number: number): boolean {
	return pool === undefined || history.commands[number]?.pool === pool;
}

/** A command, with its pool where several are shown. */
function nameOf({ history, pool }: ChartWindow, number: number): string {
	const { pool: of, command } = history.commands[number] ?? OTHERS;
	const pools = new Set(history.commands.slice(1).map(({ pool }) => pool));
	return pool !== undefined || pools.size < 2 || of === ""
		? command
		: `${of}: ${command}`;
}

/** The calls of one command in a window. */
export interface CommandRow extends Command {
	readonly number: number;
	/** With its pool, where several are shown. */
	readonly name: string;
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

/** The commands whose calls ended in a window, most calls first. */
export function commandRows(window: ChartWindow): readonly CommandRow[] {
	const spanMs = window.bins.reduce((total, bin) => total + bin.spanMs, 0);
	const all = new CallCounts();
	for (const bin of window.bins)
		all.addAll(bin, (number) =>
			isShown(window, number) ? all.of(number) : undefined,
		);
	return [...all.byCommand]
		.map(([number, counts]) => row(window, number, counts, spanMs))
		.toSorted((a, b) => b.calls - a.calls || a.name.localeCompare(b.name));
}

function row(
	window: ChartWindow,
	number: number,
	counts: CommandCounts,
	spanMs: number,
): CommandRow {
	const { succeeded, failed, durations } = counts;
	const calls = succeeded + failed;
	return {
		...(window.history.commands[number] ?? OTHERS),
		...{ number, name: nameOf(window, number), calls, failed },
		perSecond: spanMs > 0 ? (calls * 1_000) / spanMs : 0,
		p50: counts.quantileMs(0.5),
		p95: counts.quantileMs(0.95),
		p99: counts.quantileMs(0.99),
		histogram: histogram(durations),
	};
}

const BARS = 24;

/**
 * At most 24 bars of equal width on a logarithmic scale, from the shortest call to the longest.
 *
 * @param durations how many calls there are, by bucket.
 */
export function histogram(durations: Uint32Array): readonly HistogramBar[] {
	const first = durations.findIndex((calls) => calls > 0);
	if (first === -1) return [];
	const last = durations.findLastIndex((calls) => calls > 0);
	const width = Math.ceil((last - first + 1) / BARS);
	const bars = Math.ceil((last - first + 1) / width);
	return Array.from({ length: bars }, (_, bar) => {
		const start = first + bar * width;
		return {
			fromMs: bucketStartMs(start),
			toMs: bucketStartMs(start + width),
			calls: durations
				.subarray(start, start + width)
				.reduce((sum, calls) => sum + calls, 0),
		};
	});
}
