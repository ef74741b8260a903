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
