import { rolldown } from "rolldown";
import { expect, test } from "vitest";

/** Classes as they are in the packages: with themselves in a static block, in a method, and derived from another. */
const SOURCE = `
export class Plain {}
export class Branded<T = unknown> extends Map<string, T> {
	static { String(Branded); }
}
class Inner extends Branded<{ a: 1 }> {
	static of() { return new Inner(); }
}
export const made = Inner.of();
export function makes() {
	class Local { static of() { return new Local(); } }
	return Local.of();
}
`;

// Node prints them for values and uncaught errors. Bundlers that rename classes which refer to themselves have a remedy
// that costs a call for each function that is made.
test("classes in the published files have the names that the sources give them", async () => {
	const bundle = await rolldown({
		input: "classes.ts",
		plugins: [
			{
				name: "classes",
				resolveId: (id) => id,
				load: () => ({ code: SOURCE, moduleType: "ts" }),
			},
		],
		transform: { target: "node22" },
	});
	const { output } = await bundle.generate({ format: "esm" });
	const { Plain, Branded, made, makes } = await import(
		`data:text/javascript,${encodeURIComponent(output[0].code)}`
	);
	const classes = [Plain, Branded, made.constructor, makes().constructor];
	expect(classes.map(({ name }) => name)).toEqual([
		"Plain",
		"Branded",
		"Inner",
		"Local",
	]);
});
