/** Something that is in one {@link ArrivalList} at most. The list keeps its neighbours here. */
export interface Arrival {
	before: this | undefined;
	after: this | undefined;
}

/**
 * What comes and goes with every call, in the order in which it came. Adding and removing cost the same for any number.
 *
 * Not a `Set` or `Map`: V8 gives one a new table every few additions, and the old table refers to the new one. Once a
 * full collection has moved a table to the old generation, the tables that follow it are kept with all that was in them,
 * so that until the next one no call is garbage for the collections in between, and each of them copies all calls.
 */
export class ArrivalList<Item extends Arrival> {
	/** The one that came first. */
	first: Item | undefined;
	#last: Item | undefined;
	/** Asked for with every call: a field, not a function. */
	size = 0;

	/** Adds what is not in the list. */
	add(item: Item): void {
		item.before = this.#last;
		if (this.#last === undefined) this.first = item;
		else this.#last.after = item;
		this.#last = item;
		this.size++;
	}

	/** Removes it if it is there. */
	remove(item: Item): void {
		const { before, after } = item;
		if (before === undefined && this.first !== item) return;
		if (before === undefined) this.first = after;
		else before.after = after;
		if (after === undefined) this.#last = before;
		else after.before = before;
		// Other code may keep a removed item: it must not keep references to the others.
		item.before = undefined;
		item.after = undefined;
		this.size--;
	}

	/** From the first to the last. The list must not change meanwhile. */
	*[Symbol.iterator](): IterableIterator<Item> {
		for (let item = this.first; item !== undefined; item = item.after)
			yield item;
	}
}
