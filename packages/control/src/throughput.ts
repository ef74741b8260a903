import { bucketOf, type DurationCounts } from "./durations.ts";
import { COMMANDS, OTHER_COMMANDS } from "./limits.ts";

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

interface Counted {
	readonly pool: string;
	readonly command: string;
	succeeded: number;
	failed: number;
	readonly buckets: Map<number, number>;
}

/** Counts the calls that end, by command, from one tick to the next. */
export class Throughput {
	readonly #pools = new Map<string, Map<string, Counted>>();

	/** @param totalMs from acceptance to settlement. */
	add(pool: string, command: string, outcome: string, totalMs: number): void {
		const counted = this.#of(pool, command);
		if (outcome === "succeeded") counted.succeeded++;
		else counted.failed++;
		const bucket = bucketOf(totalMs);
		counted.buckets.set(bucket, (counted.buckets.get(bucket) ?? 0) + 1);
	}

	/** Returns the counts and starts again from zero. */
	take(): readonly CommandThroughput[] {
		const all = [...this.#pools.values()].flatMap((pool) => [...pool.values()]);
		this.#pools.clear();
		return all.map(({ buckets, ...rest }) => ({
			...rest,
			totalMs: [...buckets],
		}));
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
			buckets: new Map(),
		};
		commands.set(name, counted);
		return counted;
	}
}
