import type { ControlClock, ControlledRun } from "./controlled-run.ts";
import { USAGE_MS, USAGE_SHARE } from "./limits.ts";
import type { UsageSnapshot } from "./snapshot.ts";

/** Reads the resource use of workers, rarely enough that the cost cannot be measured. */
export class UsageReader {
	readonly #run: Pick<ControlledRun, "usage">;
	readonly #clock: ControlClock;
	#readMs = Number.NEGATIVE_INFINITY;
	#pauseMs: number = USAGE_MS;
	#usage: ReadonlyMap<string, UsageSnapshot> = new Map();

	constructor(run: Pick<ControlledRun, "usage">, clock: ControlClock) {
		this.#run = run;
		this.#clock = clock;
	}

	/** The last reading, by incarnation. */
	latest(): ReadonlyMap<string, UsageSnapshot> {
		const nowMs = this.#clock.now();
		const sinceMs = nowMs - this.#readMs;
		if (sinceMs < this.#pauseMs) return this.#usage;
		this.#readMs = nowMs;
		this.#usage = this.#read(sinceMs);
		const tookMs = this.#clock.now() - nowMs;
		this.#pauseMs = Math.max(USAGE_MS, tookMs * USAGE_SHARE);
		return this.#usage;
	}

	/** Returns nothing if the process table cannot be read: inspecting a program must not end it. */
	#read(sinceMs: number): ReadonlyMap<string, UsageSnapshot> {
		try {
			return new Map(
				[...this.#run.usage()].map(([incarnation, usage]) => {
					const last = this.#usage.get(incarnation);
					const processors =
						last === undefined
							? null
							: Math.max(0, usage.cpuTimeMs - last.cpuTimeMs) / sinceMs;
					return [incarnation, { ...usage, processors }];
				}),
			);
		} catch {
			return new Map();
		}
	}
}
