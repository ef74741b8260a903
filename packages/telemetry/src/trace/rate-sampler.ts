const WINDOW_MS = 1_000;
/** If there are many calls, the clock is read only for every n-th one: reading it takes longer than the rest. */
const LOOK_EVERY = 16;

/**
 * Samples at most a given number of calls per second. The number in the previous second gives each call its chance. If
 * the first ones of each second were taken instead, calls that had to wait would be missing.
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
