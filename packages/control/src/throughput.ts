import { COMMANDS, OTHER_COMMANDS } from "./limits.ts";

/** Counts of durations in buckets that are 9 % wide: `[bucket, count]`, unordered. {@link bucketStartMs} tells where one begins. */
export type DurationCounts = readonly (readonly [number, number])[];

const PER_OCTAVE = 8;
const LOWEST_MS = 0.001;

/** The bucket of a duration. */
export function bucketOf(ms: number): number {
	return Math.max(0, Math.floor(Math.log2(ms / LOWEST_MS) * PER_OCTAVE));
}

/** The shortest duration of a bucket, in milliseconds. The bucket ends where the next one begins. */
export function bucketStartMs(bucket: number): number {
	return LOWEST_MS * 2 ** (bucket / PER_OCTAVE);
}

/** The calls of one command that ended since the tick before. */
export interface CommandThroughput {
	readonly pool: string;
	readonly command: string;
	readonly succeeded: number;
	/** Also those that were aborted or timed out. */
	readonly failed: number;
	/** From acceptance to settlement. */
	readonly totalMs: DurationCounts;
}

/** Enough for a week. */
const BUCKETS = 320;
/** So many durations are counted together: by itself, each takes longer. */
const COUNTED_TOGETHER = 256;

interface Counted {
	readonly pool: string;
	readonly command: string;
	succeeded: number;
	failed: number;
	/** How many calls took as long as each bucket says. */
	readonly buckets: Uint32Array;
}

/** Counts the calls that end, by command, from one tick to the next. */
export class Throughput {
	readonly #pools = new Map<string, Map<string, Counted>>();
	/** The last that was counted, and under which name: most calls are of the same command as the one before. */
	#last: { readonly command: string; readonly counted: Counted } | undefined;
	/** Durations of the last that are not in its buckets yet. */
	readonly #waiting = new Float64Array(COUNTED_TOGETHER);
	#waitingCount = 0;

	/** @param totalMs from acceptance to settlement. */
	add(pool: string, command: string, outcome: string, totalMs: number): void {
		let last = this.#last;
		if (last?.command !== command || last.counted.pool !== pool) {
			this.#count();
			last = { command, counted: this.#of(pool, command) };
			this.#last = last;
		}
		if (outcome === "succeeded") last.counted.succeeded++;
		else last.counted.failed++;
		this.#waiting[this.#waitingCount++] = totalMs;
		if (this.#waitingCount === COUNTED_TOGETHER) this.#count();
	}

	/** Returns the counts and starts again from zero. */
	take(): readonly CommandThroughput[] {
		this.#count();
		const all = [...this.#pools.values()].flatMap((pool) => [...pool.values()]);
		this.#pools.clear();
		this.#last = undefined;
		return all.map(({ buckets, ...rest }) => ({
			...rest,
			totalMs: [...buckets.entries()].filter(([, count]) => count > 0),
		}));
	}

	#count(): void {
		const buckets = this.#last?.counted.buckets;
		if (buckets !== undefined)
			for (const ms of this.#waiting.subarray(0, this.#waitingCount)) {
				const bucket = Math.min(BUCKETS - 1, bucketOf(ms));
				buckets[bucket] = (buckets[bucket] ?? 0) + 1;
			}
		this.#waitingCount = 0;
	}

	#of(pool: string, command: string): Counted {
		let commands = this.#pools.get(pool);
		if (commands === undefined) {
			commands = new Map();
			this.#pools.set(pool, commands);
		}
		const known = commands.get(command);
		if (known !== undefined) return known;
		const name = commands.size < COMMANDS ? command : OTHER_COMMANDS;
		const counted = commands.get(name) ?? {
			...{ pool, command: name, succeeded: 0, failed: 0 },
			buckets: new Uint32Array(BUCKETS),
		};
		commands.set(name, counted);
		return counted;
	}
}
