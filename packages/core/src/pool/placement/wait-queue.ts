import type { Call } from "../calls/call.ts";

/** The process that a call must run on because of its strict session; `undefined` when any will do. */
export function boundTo(call: Call): string | undefined {
	return call.session?.affinity === "strict"
		? call.session.incarnation
		: undefined;
}

/**
 * The calls that wait: one common line, and one for each process that strict
 * sessions are bound to.
 */
export class WaitQueue {
	readonly #common = new PriorityQueue<Call>();
	readonly #bound = new Map<string, PriorityQueue<Call>>();
	/** Of all queues. Asked for with every call: a field, not a function. */
	size = 0;

	add(call: Call): void {
		this.size++;
		this.#enqueue(call);
	}

	#enqueue(call: Call): void {
		const incarnation = boundTo(call);
		if (incarnation === undefined) {
			this.#common.add(call);
			return;
		}
		let queue = this.#bound.get(incarnation);
		if (queue === undefined) {
			queue = new PriorityQueue();
			this.#bound.set(incarnation, queue);
		}
		queue.add(call);
	}

	remove(call: Call): void {
		const queues = [this.#common, ...this.#bound.values()];
		if (queues.some((queue) => queue.remove(call))) this.size--;
	}

	/** Takes the next call that this process may run; calls whose session was bound elsewhere meanwhile change the line. */
	takeFor(incarnation: string): Call | undefined {
		const own = this.#bound.get(incarnation);
		for (;;) {
			const bound = own?.peek();
			const common = this.#common.peek();
			if (
				bound !== undefined &&
				(common === undefined || isBefore(bound, common))
			) {
				own?.take();
				this.size--;
				return bound;
			}
			if (common === undefined) return undefined;
			this.#common.take();
			const wanted = boundTo(common);
			if (wanted === undefined || wanted === incarnation) {
				this.size--;
				return common;
			}
			this.#enqueue(common);
		}
	}

	/** The next call: of the common line, which this process may not be allowed to run, or of those for this very process. */
	peekFor(incarnation: string): Call | undefined {
		const bound = this.#bound.get(incarnation)?.peek();
		const common = this.#common.peek();
		return bound !== undefined &&
			(common === undefined || isBefore(bound, common))
			? bound
			: common;
	}

	/** Takes the next call whose session is bound to this process, also one that came before it was bound. */
	takeBound(incarnation: string): Call | undefined {
		for (const call of this.#early(incarnation)) {
			this.#common.remove(call);
			this.#enqueue(call);
		}
		const call = this.#bound.get(incarnation)?.take();
		if (call !== undefined) this.size--;
		return call;
	}

	/** Takes out every call that could only run on this process, also those that came before their session was bound. */
	evict(incarnation: string): readonly Call[] {
		const bound = [...(this.#bound.get(incarnation) ?? [])];
		this.#bound.delete(incarnation);
		const early = this.#early(incarnation);
		for (const call of early) this.#common.remove(call);
		this.size -= bound.length + early.length;
		return [...bound, ...early];
	}

	/** In no particular order. */
	all(): readonly Call[] {
		return [
			...this.#common,
			...[...this.#bound.values()].flatMap((queue) => [...queue]),
		];
	}

	/** Those in the common line that came before their session was bound to this process. */
	#early(incarnation: string): readonly Call[] {
		return [...this.#common].filter((call) => boundTo(call) === incarnation);
	}
}

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
function isBefore(a: Waiting, b: Waiting): boolean {
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
