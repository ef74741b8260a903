import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/run.ts";

const BLOCK = /^```js bundled\n\/\/ (\S+)\n(.*?)^```$/gms;

const PAGES: readonly string[] = [
	"docs/bundlers.md",
	"docs/single-executables.md",
];

/** The configurations that the pages show, by the names of their files: what is built is what is shown. */
export function configurations(): ReadonlyMap<string, string> {
	const text = PAGES.map((page) => readFileSync(join(root, page), "utf8"));
	return new Map(
		[...text.join("\n").matchAll(BLOCK)].map(([, name = "", block = ""]) => [
			name,
			block,
		]),
	);
}
