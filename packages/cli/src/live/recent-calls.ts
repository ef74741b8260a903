import {
	bucketStartMs,
	type ControlledEvent,
	type DurationCounts,
	type ServedTick,
} from "@snakepit/control";

/** What is shown is of this time, in milliseconds, */
const WINDOW_MS = 10_000;
/** and of this one where fewer calls than these have ended in it. */
const LONG_WINDOW_MS = 60_000;
const FEW_CALLS = 10;
/** So many of one pool are kept between two ticks: a program sends ten that succeeded, and all that failed. */
const MOST_EXACT = 50;

/** The calls of one pool that ended lately. */
export interface RecentCalls {
	/** In how much time. */
	readonly windowMs: number;
	readonly ended: number;
	/** From acceptance to settlement; 0 where none ended. */
	readonly medianMs: number;
	readonly most99Ms: number;
	readonly longestMs: number;
}

/** Durations, and how many calls had each. */
type Durations = readonly (readonly [ms: number, calls: number])[];

/**
 * The calls of a program that ended within the last minute. Of few calls each duration is known; of many, they are counted
 * in buckets that are 9 % wide, and the middle of a bucket stands for them.
 */
export class RecentlyEnded {
	/** Oldest first. */
	readonly #ticks: {
		readonly tickMs: number;
		readonly byPool: ReadonlyMap<string, Durations>;
	}[] = [];
	/** Of calls whose end was sent since the last tick, by pool. */
	#sent = new Map<string, number[]>();

	/** An event of the program, in the order in which they were sent. */
	event({ type, pool, totalMs }: ControlledEvent): void {
		if (type !== "call.settled") return;
		if (typeof pool !== "string" || typeof totalMs !== "number") return;
		const sent = this.#sent.get(pool) ?? [];
		this.#sent.set(pool, sent);
		if (sent.length <= MOST_EXACT) sent.push(totalMs);
	}

	tick({ tickMs, throughput }: ServedTick): void {
		const sent = this.#sent;
		this.#sent = new Map();
		// The first one of a stream only tells the state.
		if (tickMs <= 0) return;
		const byPool = new Map(
			[...Map.groupBy(throughput, ({ pool }) => pool)].map(
				([pool, commands]) => {
					const counts = commands.flatMap(({ totalMs }) => totalMs);
					return [pool, durationsOf(counts, sent.get(pool) ?? [])] as const;
				},
			),
		);
		this.#ticks.push({ tickMs, byPool });
		let knownMs = this.#ticks.reduce((sum, tick) => sum + tick.tickMs, 0);
		for (;;) {
			const [oldest] = this.#ticks;
			if (oldest === undefined) return;
			knownMs -= oldest.tickMs;
			if (knownMs < LONG_WINDOW_MS) return;
			this.#ticks.shift();
		}
	}

	/** Of a pool; `undefined` before anything is known. */
	of(pool: string): RecentCalls | undefined {
		if (this.#ticks.length === 0) return undefined;
		const short = this.#within(pool, WINDOW_MS);
		return short.ended < FEW_CALLS ? this.#within(pool, LONG_WINDOW_MS) : short;
	}

	#within(pool: string, limitMs: number): RecentCalls {
		let windowMs = 0;
		const durations: (readonly [ms: number, calls: number])[] = [];
		for (const { tickMs, byPool } of this.#ticks.toReversed()) {
			if (windowMs >= limitMs) break;
			windowMs += tickMs;
			durations.push(...(byPool.get(pool) ?? []));
		}
		const sorted = durations.toSorted(([a], [b]) => a - b);
		const ended = sorted.reduce((sum, [, calls]) => sum + calls, 0);
		return {
			...{ windowMs, ended },
			medianMs: shareOf(sorted, ended, 0.5),
			most99Ms: shareOf(sorted, ended, 0.99),
			longestMs: shareOf(sorted, ended, 1),
		};
	}
}

/** The duration that this share of the calls did not exceed. */
function shareOf(sorted: Durations, ended: number, share: number): number {
	let left = Math.max(1, Math.ceil(ended * share));
	for (const [ms, calls] of sorted) {
		left -= calls;
		if (left <= 0) return ms;
	}
	return 0;
}

/** @param sent the durations of the same calls, if all of them were sent one by one. */
function durationsOf(
	counts: DurationCounts,
	sent: readonly number[],
): Durations {
	const ended = counts.reduce((sum, [, calls]) => sum + calls, 0);
	return sent.length === ended
		? sent.map((ms) => [ms, 1] as const)
		: counts.map(([bucket, calls]) => [bucketStartMs(bucket + 0.5), calls]);
}
