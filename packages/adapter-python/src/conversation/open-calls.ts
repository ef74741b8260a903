/**
 * The calls that are not over, by number, in the order in which they were made.
 *
 * Not a `Map`, which keeps calls that are over from the garbage collector (see `arrival-list.ts` of core).
 */
export class OpenCalls<Call> {
	readonly #calls: Record<number, Call> = Object.create(null);
	size = 0;

	get(number: number): Call | undefined {
		return this.#calls[number];
	}

	/** Adds a call, with the next number. */
	add(number: number, call: Call): void {
		this.#calls[number] = call;
		this.size++;
	}

	delete(number: number): void {
		if (this.#calls[number] === undefined) return;
		delete this.#calls[number];
		this.size--;
	}

	values(): readonly Call[] {
		return Object.values(this.#calls);
	}
}
