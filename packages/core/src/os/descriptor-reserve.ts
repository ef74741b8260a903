import { closeSync, openSync } from "node:fs";
import { outOfDescriptors } from "./system-refusal.ts";

/** A look needs one. Another thread can take what is given up for it: then the next one is. */
const KEPT = 4;

/**
 * Descriptors that are kept for looks at the process table: a program that has
 * used up its own must not take its workers for gone.
 */
export class DescriptorReserve {
	readonly #kept: number[] = [];

	constructor() {
		this.#fill();
	}

	/**
	 * Looks, with the reserve where there is no other descriptor. The look must be
	 * synchronous and hold one descriptor at a time.
	 *
	 * @throws what the look throws, for another reason than a lack of descriptors too.
	 */
	use<Result>(look: () => Result): Result {
		// What was taken may be free again.
		this.#fill();
		try {
			while (true)
				try {
					return look();
				} catch (error) {
					const descriptor = this.#kept.at(-1);
					if (!outOfDescriptors(error) || descriptor === undefined) throw error;
					closeSync(descriptor);
					this.#kept.pop();
				}
		} finally {
			this.#fill();
		}
	}

	#fill(): void {
		while (this.#kept.length < KEPT) {
			const descriptor = hold();
			if (descriptor === undefined) return;
			this.#kept.push(descriptor);
		}
	}
}

function hold(): number | undefined {
	try {
		return openSync("/dev/null", "r");
	} catch {
		return undefined; // Taken meanwhile by another thread.
	}
}
