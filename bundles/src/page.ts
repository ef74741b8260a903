import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/run.ts";

const BLOCK = /^```js bundled\n\/\/ (\S+)\n(.*?)^```$/gms;

/** The configurations that docs/bundlers.md shows, by the names of their files: what is built is what is shown. */
export function configurations(): ReadonlyMap<string, string> {
	const page = readFileSync(join(root, "docs/bundlers.md"), "utf8");
	return new Map(
		[...page.matchAll(BLOCK)].map(([, name = "", text = ""]) => [name, text]),
	);
}
