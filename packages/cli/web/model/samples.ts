import {
	addCounts,
	type DurationCounts,
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

export interface CommandCounts {
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

export function commandKey(pool: string, command: string): string {
	return JSON.stringify([pool, command]);
}

/** Adds up counts of one command. */
export function sum(
	all: readonly [CommandCounts, ...CommandCounts[]],
): CommandCounts {
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
