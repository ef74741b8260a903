import type { PoolOptions } from "@snakepit/core";
import type { Chance } from "../chance.ts";

/** The settings of one pool of a random life. */
export interface Chosen {
	readonly pool: Omit<PoolOptions, "adapter">;
	readonly transport: "grpc" | "framed";
	readonly preload: boolean;
	readonly streamCredit: number | undefined;
	readonly queueLimit: number;
	readonly ttlMs: number;
	readonly drainMs: number;
	readonly manner: "gentle" | "forced";
	/** After this many calls, it is closed, even if calls are running. */
	readonly closeAfter: number;
}

/** Draws a pool: everything that an option can change about the life of a call. */
export function choose(chance: Chance, name: string, calls: number): Chosen {
	const queueLimit = chance.pick([0, 2, 1000, 1000]);
	const ttlMs = chance.pick([500, 3_600_000]);
	const recycle = {
		...(chance.of(0.4) ? { afterCalls: 1 + chance.below(12) } : {}),
		...(chance.of(0.3) ? { afterMs: 300 + chance.below(3_000) } : {}),
		// Memory is checked ten times in `afterMs`.
		...(chance.of(0.3) ? { aboveResidentBytes: 60e6, afterMs: 3_000 } : {}),
	};
	return {
		pool: {
			name,
			size: chance.pick([
				1,
				2,
				{ min: 1, max: 3, idleMs: 200 },
				{ min: 2, max: 3, idleMs: 0 },
				{ min: 0, max: 2, idleMs: 300 },
			]),
			callsPerWorker: chance.pick([1, 1, 3]),
			// Retries soon and without a limit.
			start: { maxRestarts: 100_000, backoffMs: 2 },
			queue: { limit: queueLimit },
			heartbeat: chance.of(0.7) ? { intervalMs: 200 } : "off",
			recycle,
			sessions: { ttlMs },
			stop: { killAfterMs: 3_000 },
			output: { echo: "none" },
		},
		transport: chance.pick(["grpc", "framed"] as const),
		preload: chance.of(0.3),
		streamCredit: chance.of(0.3) ? chance.pick([1, 2, 5]) : undefined,
		queueLimit,
		ttlMs,
		drainMs: chance.pick([0, 50, 500, 3_000, 30_000]),
		manner: chance.of(0.2) ? "forced" : "gentle",
		closeAfter: chance.of(0.5) ? chance.below(calls) : calls,
	};
}
