const INTERVAL_MS = 50;

/**
 * How late this process's event loop runs, in milliseconds.
 *
 * Counts a delay that still goes on, which a histogram filled by a timer does
 * not: that one only learns of it afterwards.
 */
export class EventLoopLag {
	#longest = 0;
	#tickedAt: number | undefined;

	/** The longest delay since the last call; 0 at the first, which starts the measurement. */
	take(): number {
		if (this.#tickedAt === undefined) {
			this.#tickedAt = performance.now();
			setInterval(() => this.#measure(), INTERVAL_MS).unref();
			return 0;
		}
		this.#measure();
		const longest = this.#longest;
		this.#longest = 0;
		return longest;
	}

	#measure(): void {
		const now = performance.now();
		const late = now - (this.#tickedAt ?? now) - INTERVAL_MS;
		this.#longest = Math.max(this.#longest, late);
		this.#tickedAt = now;
	}
}
