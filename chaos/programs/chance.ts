import { SeededRandom } from "../../packages/core/src/testing/virtual-pool.ts";

/** Random choices, the same for the same seed. */
export class Chance {
	readonly #random: SeededRandom;

	constructor(seed: number) {
		this.#random = new SeededRandom(seed);
	}

	/** From 0 up to, but not including, 1. */
	fraction(): number {
		return this.#random.fraction();
	}

	below(most: number): number {
		return Math.floor(this.fraction() * most);
	}

	/** True with this probability. */
	of(share: number): boolean {
		return this.fraction() < share;
	}

	pick<T>(all: readonly T[]): T {
		return all[this.below(all.length)] as T;
	}
}
