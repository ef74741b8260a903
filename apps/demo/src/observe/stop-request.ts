const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Longer than anybody waits. */
const VERY_LONG_MS = 2 ** 31 - 1;

/**
 * Hears the first signal that asks the program to end. Those that follow change
 * nothing: what is to be ended has limits of its own. While it listens the
 * program stays.
 */
export class StopRequest implements Disposable {
	readonly #abort = new AbortController();
	// A listener for signals does not hold a program open.
	readonly #alive = setInterval(() => {}, VERY_LONG_MS);
	#came: NodeJS.Signals | undefined;

	constructor() {
		for (const signal of SIGNALS) process.on(signal, this.#hear);
	}

	readonly #hear = (signal: NodeJS.Signals): void => {
		this.#came ??= signal;
		this.#abort.abort();
	};

	/** Which signal came. */
	get came(): NodeJS.Signals | undefined {
		return this.#came;
	}

	/** Aborts when one comes. */
	get signal(): AbortSignal {
		return this.#abort.signal;
	}

	/** Resolves when one comes. */
	get comes(): Promise<void> {
		const { signal } = this;
		if (signal.aborted) return Promise.resolve();
		return new Promise((resolve) => {
			signal.addEventListener("abort", () => resolve(), { once: true });
		});
	}

	[Symbol.dispose](): void {
		clearInterval(this.#alive);
		for (const signal of SIGNALS) process.off(signal, this.#hear);
	}
}
