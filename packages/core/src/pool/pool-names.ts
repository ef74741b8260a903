/** The longest that a name may be. */
const LIMIT = 40;

/** The names of the pools of a program that are open. */
export class PoolNames {
	/** A name that the program gives itself may be there more than once. */
	readonly #taken = new Map<symbol, string>();

	/** Returns the name, or the first of `name-2`, `name-3` and so on that no open pool has. */
	free(name: string): string {
		const taken = new Set(this.#taken.values());
		let free = name;
		for (let n = 2; taken.has(free); n++) {
			const ending = `-${n}`;
			free = name.slice(0, LIMIT - ending.length) + ending;
		}
		return free;
	}

	/** Returns the function that gives the name back; calling it again does nothing. */
	take(name: string): () => void {
		const key = Symbol(name);
		this.#taken.set(key, name);
		return () => void this.#taken.delete(key);
	}
}

/** Those of this program. */
export const poolNames: PoolNames = new PoolNames();
