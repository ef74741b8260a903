import { brandAs } from "@snakepit/core/adapter";

/**
 * A number that arrives as a `float` in Python even where it is whole.
 *
 * A plain `1` arrives as the integer 1, `new Float(1)` as 1.0. Results come back as plain numbers.
 */
export class Float {
	static {
		brandAs(Float, "value.Float");
	}

	/** For the compiler only: an object that merely has the same properties is not a `Float`. */
	declare protected readonly brand: "Float";
	readonly value: number;

	constructor(value: number) {
		if (typeof value !== "number")
			throw new TypeError(`Float needs a number, got ${typeof value}`);
		this.value = value;
	}

	valueOf(): number {
		return this.value;
	}

	toJSON(): number {
		return this.value;
	}
}

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
