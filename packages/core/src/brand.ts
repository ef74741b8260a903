/**
 * Makes `instanceof` hold for the instances that another copy of the package of `type` made.
 *
 * A program can hold several copies: one in a bundle and one installed, two versions
 * in one tree of dependencies. Each has classes of its own; the brand is a symbol of
 * the whole process. A class that a program derives from `type` has its own instances
 * alone, as always.
 *
 * @param name that of the class, with what it belongs to: `error.InputError`.
 */
export function brandAs(
	type: { readonly prototype: object },
	name: string,
): void {
	const brand = Symbol.for(`snakepit.${name}`);
	Object.defineProperty(type.prototype, brand, { value: true });
	Object.defineProperty(type, Symbol.hasInstance, {
		value(this: object, candidate: unknown): boolean {
			return this === type
				? typeof candidate === "object" &&
						candidate !== null &&
						brand in candidate
				: Function.prototype[Symbol.hasInstance].call(this, candidate);
		},
	});
}
