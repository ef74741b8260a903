/** Something that waits: higher priority first, then first come, first served. */
export interface Waiting {
	readonly priority: number;
	/** Grows with every arrival. */
	readonly sequence: number;
	/** Its place in the heap of the one queue that it waits in. Kept by the queue. */
	place: number;
}

/** The place of something that waits nowhere. */
export const NOWHERE = -1;

/** Whether `a` is served before `b`. */
export function isBefore(a: Waiting, b: Waiting): boolean {
	return a.priority !== b.priority
		? a.priority > b.priority
		: a.sequence < b.sequence;
}

/**
 * A binary heap of waiting things. Adding, taking and removing cost O(log n).
 */
export class PriorityQueue<Item extends Waiting> {
	readonly #heap: Item[] = [];

	get size(): number {
		return this.#heap.length;
	}

	peek(): Item | undefined {
		return this.#heap[0];
	}

	add(item: Item): void {
		item.place = this.#heap.push(item) - 1;
		this.#rise(item.place);
	}

	take(): Item | undefined {
		const first = this.#heap[0];
		if (first !== undefined) this.remove(first);
		return first;
	}

	/** Returns whether it was there. */
	remove(item: Item): boolean {
		const position = item.place;
		if (this.#heap[position] !== item) return false;
		item.place = NOWHERE;
		const last = this.#heap.pop();
		if (last !== undefined && last !== item) {
			this.#put(last, position);
			this.#rise(position);
			this.#sink(last.place);
		}
		return true;
	}

	/** In no particular order. */
	*[Symbol.iterator](): IterableIterator<Item> {
		yield* [...this.#heap];
	}

	#put(item: Item, position: number): void {
		this.#heap[position] = item;
		item.place = position;
	}

	#rise(from: number): void {
		let position = from;
		while (position > 0) {
			const above = (position - 1) >> 1;
			if (!this.#swapIfBefore(position, above)) return;
			position = above;
		}
	}

	#sink(from: number): void {
		let position = from;
		for (;;) {
			const left = 2 * position + 1;
			const right = left + 1;
			const [a, b] = [this.#heap[left], this.#heap[right]];
			if (a === undefined) return;
			const child = b !== undefined && isBefore(b, a) ? right : left;
			if (!this.#swapIfBefore(child, position)) return;
			position = child;
		}
	}

	/** Swaps when what is at `lower` is served before what is at `upper`. */
	#swapIfBefore(lower: number, upper: number): boolean {
		const [a, b] = [this.#heap[lower], this.#heap[upper]];
		if (a === undefined || b === undefined || !isBefore(a, b)) return false;
		this.#put(a, upper);
		this.#put(b, lower);
		return true;
	}
}
