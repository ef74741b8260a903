/** Starts of workers, each until it succeeded or failed. */
export class StartsUnderWay {
	readonly #starts = new Set<Promise<void>>();

	add(start: Promise<void>): void {
		this.#starts.add(start);
		const forget = () => this.#starts.delete(start);
		start.then(forget, forget);
	}

	/** Resolves when those under way now are over, well or not. */
	async over(): Promise<void> {
		await Promise.allSettled(this.#starts);
	}
}
