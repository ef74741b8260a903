import { build } from "esbuild";
import { expect, test } from "vitest";
import { withClassNames } from "../../../../scripts/class-names.ts";

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

test("classes in the published files have the names that the sources give them", async () => {
	const { outputFiles } = await build({
		stdin: { contents: SOURCE, loader: "ts" },
		...{ bundle: true, format: "esm", target: "node22", write: false },
	});
	const [{ text }] = outputFiles as [(typeof outputFiles)[number]];
	// Else esbuild has another way, and what is done about it is of no use.
	expect(text).toContain("class _Branded");
	const names = async (code: string): Promise<readonly string[]> => {
		const { Plain, Branded, made, makes } = await import(
			`data:text/javascript,${encodeURIComponent(code)}`
		);
		return [
			Plain.name,
			Branded.name,
			made.constructor.name,
			makes().constructor.name,
		];
	};
	const named = withClassNames(text);
	expect(await names(named)).toEqual(["Plain", "Branded", "Inner", "Local"]);
	expect(named.split("\n")).toHaveLength(text.split("\n").length);
});
