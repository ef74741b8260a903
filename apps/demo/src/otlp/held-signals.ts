const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Listens once for a signal that ends the program, so that the program can close
 * its pool, send how that ended, and only then end by the signal. A second
 * signal ends it at once.
 */
export class HeldSignals {
	readonly #listeners: readonly (readonly [NodeJS.Signals, () => void])[];
	#came: NodeJS.Signals | undefined;
	#life: "listening" | "held" = "listening";
	readonly #held = new AbortController();

	constructor() {
		this.#listeners = SIGNALS.map((signal) => {
			const listener = () => {
				this.#came = signal;
				this.#stopListening();
				// Where no pool has heard it, there is nothing to wait for.
				setImmediate(() => {
					if (this.#life === "listening") this.raise();
					else this.#held.abort();
				});
			};
			process.once(signal, listener);
			return [signal, listener];
		});
	}

	/** The signal that comes now waits for `raise`. */
	hold(): void {
		this.#life = "held";
	}

	/** Aborts when a signal came and is held: the time to close. */
	get held(): AbortSignal {
		return this.#held.signal;
	}

	/** Ends the program of the signal that came, if one came; listens no more. */
	raise(): void {
		this.#stopListening();
		if (this.#came !== undefined) process.kill(process.pid, this.#came);
	}

	#stopListening(): void {
		for (const [signal, listener] of this.#listeners)
			process.off(signal, listener);
	}
}
