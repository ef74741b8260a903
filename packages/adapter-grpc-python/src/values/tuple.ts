import { brandAs } from "@snakepit/core/infrastructure";
/**
 * An array that is a `tuple` for the worker; tuples of the worker arrive as this.
 *
 * `Tuple.of(1, 2)` makes one. What is derived from it (`map`, `slice`) is a plain array.
 */
export class Tuple<Item = unknown> extends Array<Item> {
	static {
		brandAs(Tuple, "value.Tuple");
	}

	/** For the compiler alone: what merely has the same parts is no `Tuple`. */
	declare protected readonly brand: "Tuple";

	static override of<Item>(...items: Item[]): Tuple<Item> {
		const tuple = new Tuple<Item>();
		tuple.push(...items);
		return tuple;
	}

	static override get [Symbol.species](): ArrayConstructor {
		return Array;
	}
}
