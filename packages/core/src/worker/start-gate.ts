/** Lets a bounded number of workers start at the same time, in the order they came. */
export class StartGate {
	#free: number;
	readonly #waiting: (() => void)[] = [];

	constructor(concurrency: number) {
		this.#free = concurrency;
	}

	/** Resolves when there is room; call the result once to make room again. */
	async enter(): Promise<() => void> {
		if (this.#free > 0) this.#free--;
		else await new Promise<void>((resolve) => this.#waiting.push(resolve));
		let left = false;
		return () => {
			if (left) return;
			left = true;
			const next = this.#waiting.shift();
			if (next === undefined) this.#free++;
			else next();
		};
	}
}
