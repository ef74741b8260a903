/** One value, and the listeners for its changes. */
export class Store<State> {
	#state: State;
	readonly #listeners = new Set<(state: State) => void>();

	constructor(first: State) {
		this.#state = first;
	}

	get state(): State {
		return this.#state;
	}

	update(change: (state: State) => State): void {
		const next = change(this.#state);
		if (next === this.#state) return;
		this.#state = next;
		for (const listener of this.#listeners) listener(next);
	}

	/** Returns the function that ends it. */
	subscribe(listener: (state: State) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}
}
