const WINDOW_MS = 1_000;
/** Where calls are many, the clock is looked at for one in so many: it takes longer than the rest. */
const LOOK_EVERY = 16;

/**
 * Takes at most so many calls in a second. Each call has the same chance, by how many there were in the second before:
 * the first ones of each second would be those that never had to wait.
 */
export class RateSampler {
	readonly #perSecond: number;
	readonly #random: () => number;
	readonly #now: () => number;
	#windowEndMs = Number.NEGATIVE_INFINITY;
	/** In this window. */
	#calls = 0;
	#taken = 0;
	/** The chance of a call. */
	#share = 1;

	/**
	 * @param random from 0 up to, but not including, 1.
	 * @param now in milliseconds.
	 */
	constructor(perSecond: number, random: () => number, now: () => number) {
		this.#perSecond = perSecond;
		this.#random = random;
		this.#now = now;
	}

	/** Whether to take this call. */
	sample(): boolean {
		const isSpent = this.#taken >= this.#perSecond;
		if ((this.#share === 1 && !isSpent) || this.#calls % LOOK_EVERY === 0) {
			const nowMs = this.#now();
			if (nowMs >= this.#windowEndMs) this.#begin(nowMs);
		}
		this.#calls++;
		if (this.#taken >= this.#perSecond) return false;
		if (this.#share < 1 && this.#random() >= this.#share) return false;
		this.#taken++;
		return true;
	}

	#begin(nowMs: number): void {
		const sinceMs = nowMs - this.#windowEndMs + WINDOW_MS;
		const perSecond = (this.#calls * 1_000) / sinceMs;
		this.#share = Math.min(1, this.#perSecond / perSecond);
		this.#windowEndMs = nowMs + WINDOW_MS;
		this.#calls = 0;
		this.#taken = 0;
	}
}
