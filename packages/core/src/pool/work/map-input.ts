import type { Items } from "./map-options.ts";

/** The items of a map, taken one at a time. */
export class MapInput {
	readonly #items: Items<unknown>;
	#iterator: Iterator<unknown> | AsyncIterator<unknown> | undefined;
	#state: "open" | "asked" | "over" = "open";

	constructor(items: Items<unknown>) {
		this.#items = items;
	}

	/** The next item. Not called again before it has settled. */
	async next(): Promise<IteratorResult<unknown>> {
		this.#iterator ??= iteratorOf(this.#items);
		this.#state = "asked";
		try {
			const result = await this.#iterator.next();
			if (this.#state === "asked")
				this.#state = result.done === true ? "over" : "open";
			return result;
		} catch (error) {
			this.#state = "over"; // What throws has closed itself.
			throw error;
		}
	}

	/** Reads no more. An item that was asked for and may never come is not waited for. */
	async close(): Promise<void> {
		const state = this.#state;
		this.#state = "over";
		if (state === "over") return;
		const closed = (async () => await this.#iterator?.return?.())();
		if (state === "open") await closed;
		else closed.catch(() => {}); // Nothing waits for it any more.
	}
}

function iteratorOf(
	items: Items<unknown>,
): Iterator<unknown> | AsyncIterator<unknown> {
	return Symbol.asyncIterator in items
		? items[Symbol.asyncIterator]()
		: items[Symbol.iterator]();
}
