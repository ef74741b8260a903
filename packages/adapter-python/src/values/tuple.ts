import { brandAs } from "@snakepit/core/adapter";

/**
 * An array that arrives as a `tuple` in Python; Python's tuples arrive as this.
 *
 * `Tuple.of(1, 2)` makes one. `map` and `slice` of it return plain arrays.
 */
export class Tuple<Item = unknown> extends Array<Item> {
	static {
		brandAs(Tuple, "value.Tuple");
	}

	/** For the compiler only: an object that merely has the same properties is not a `Tuple`. */
	declare protected readonly brand: "Tuple";

	/** Its type contains the type of each item at its place. */
	static override of<Items extends unknown[]>(
		...items: Items
	): Tuple<Items[number]> & Items {
		const tuple = new Tuple<Items[number]>();
		tuple.push(...items);
		return tuple as Tuple<Items[number]> & Items;
	}

	static override get [Symbol.species](): ArrayConstructor {
		return Array;
	}
}
