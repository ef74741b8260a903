import type { Random } from "../contract/clock.ts";

/**
 * Chance that repeats itself: the same seed gives the same numbers and tokens.
 *
 * Source: mulberry32, Tommy Ettinger (public domain).
 */
export class SeededRandom implements Random {
	readonly seed: number;
	#state: number;

	constructor(seed = 1) {
		this.seed = seed;
		this.#state = seed >>> 0;
	}

	fraction(): number {
		return this.#word() / 2 ** 32;
	}

	token(): string {
		return Array.from({ length: 8 }, () =>
			this.#word().toString(16).padStart(8, "0"),
		).join("");
	}

	/** A whole number from 0 to `below - 1`. */
	below(below: number): number {
		return Math.floor(this.fraction() * below);
	}

	/** One of `items`, which must not be empty. */
	pick<Item>(items: readonly Item[]): Item {
		if (items.length === 0)
			throw new RangeError("There is nothing to pick from.");
		return items[this.below(items.length)] as Item;
	}

	#word(): number {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let word = this.#state;
		word = Math.imul(word ^ (word >>> 15), word | 1);
		word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
		return (word ^ (word >>> 14)) >>> 0;
	}
}
