import type { Clock, Timer } from "../contract/clock.ts";

/**
 * How many workers are asked in one turn of the event loop. A ping alone costs the
 * host several times what one among others does, since it wakes up for each; yet
 * not all workers of a large pool shall wake up in one instant (docs/decisions/0014).
 */
export const MOST_IN_A_ROUND = 32;

/** The share of an interval by which each further round begins earlier: rounds of workers that became ready together are spread over the interval. */
const APART: number = (Math.sqrt(5) - 1) / 2;

/** Pings one worker. Called with how late the round came, in milliseconds: the delay of the host's event loop. */
type Beat = (lateMs: number) => void;

interface Round {
	readonly intervalMs: number;
	readonly beats: Set<Beat>;
	timer: Timer | undefined;
}

/**
 * When the workers of a pool are asked whether they are there: each once an
 * interval, in rounds of several.
 */
export class HeartbeatRounds {
	readonly #clock: Clock;
	readonly #rounds = new Set<Round>();
	#made = 0;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** Calls `beat` once an interval, for the first time within one. Returns the function that ends this; calling it again does nothing. */
	join(intervalMs: number, beat: Beat): () => void {
		const round = this.#withRoom(intervalMs) ?? this.#begin(intervalMs);
		round.beats.add(beat);
		return () => {
			round.beats.delete(beat);
			if (round.beats.size > 0) return;
			round.timer?.cancel();
			this.#rounds.delete(round);
		};
	}

	#withRoom(intervalMs: number): Round | undefined {
		for (const round of this.#rounds)
			if (round.intervalMs === intervalMs && round.beats.size < MOST_IN_A_ROUND)
				return round;
		return undefined;
	}

	#begin(intervalMs: number): Round {
		const round = { intervalMs, beats: new Set<Beat>(), timer: undefined };
		this.#rounds.add(round);
		const early = (this.#made++ * APART) % 1;
		this.#schedule(round, intervalMs * (1 - early));
		return round;
	}

	#schedule(round: Round, ms: number): void {
		const dueMs = this.#clock.now() + ms;
		round.timer = this.#clock.after(ms, () => {
			const lateMs = this.#clock.now() - dueMs;
			this.#schedule(round, round.intervalMs);
			for (const beat of round.beats) beat(lateMs);
		});
	}
}
