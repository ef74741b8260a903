import { setTimeout as sleep } from "node:timers/promises";

/** Input streams of a program, each of which is to be closed when its call is over. */
export class Sources {
	begun = 0;
	ended = 0;
	readonly #wrong: (what: string) => void;

	constructor(wrong: (what: string) => void) {
		this.#wrong = wrong;
	}

	/** From 0 on, with a pause before each, and an error at the end where it fails. */
	async *numbers(
		items: number,
		pauseMs: number,
		end: "ends" | "fails",
	): AsyncGenerator<number> {
		this.begun++;
		try {
			for (let each = 0; each < items; each++) {
				if (pauseMs > 0) await sleep(pauseMs);
				yield each;
			}
			if (end === "fails") throw new Error("the source failed on purpose");
		} finally {
			this.ended++;
		}
	}

	/** Two numbers, and then nothing until it is closed. */
	silent(): AsyncIterable<number> {
		let given = 0;
		let state: "fresh" | "open" | "closed" = "fresh";
		const closed = Promise.withResolvers<IteratorResult<number>>();
		const open = (): AsyncIterator<number> => {
			if (state !== "fresh") this.#wrong("a source was opened twice");
			state = "open";
			this.begun++;
			return {
				next: async () =>
					given < 2 ? { done: false, value: given++ } : closed.promise,
				return: async () => {
					if (state !== "open") this.#wrong("a source was closed twice");
					state = "closed";
					this.ended++;
					closed.resolve({ done: true, value: undefined });
					return { done: true, value: undefined };
				},
			};
		};
		return { [Symbol.asyncIterator]: open };
	}
}
