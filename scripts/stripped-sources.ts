// Strips the types of every source that programs of tests may load, for stripped-sources-hook.cjs. Run as a program.
import {
	globSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { basename, join } from "node:path";
import { root } from "./run.ts";

interface Hook {
	readonly stripped: string;
	strippedPath(file: string): string;
}

const SOURCES =
	"{{packages,apps,examples}/*/{src,test},{bench,chaos}/{src,programs,test},scripts}/**/*.ts";

const require = createRequire(import.meta.url);
const { stripped, strippedPath }: Hook = require("./stripped-sources-hook.cjs");
mkdirSync(stripped, { recursive: true });
const temporary = mkdtempSync(`${stripped}-`);
const outdated = new Set(readdirSync(stripped));
for (const source of globSync(SOURCES, {
	cwd: root,
	exclude: ["**/node_modules/**", "**/*.test.ts", "**/*.d.ts"],
})) {
	const file = join(root, source);
	const path = strippedPath(file);
	if (outdated.delete(basename(path))) continue;
	const output = join(temporary, basename(path));
	try {
		writeFileSync(output, stripTypeScriptTypes(readFileSync(file, "utf8")));
	} catch {
		// Node refuses it too.
		continue;
	}
	// Another run of tests may look for it at this moment.
	renameSync(output, path);
}
for (const name of outdated) rmSync(join(stripped, name), { force: true });
rmSync(temporary, { recursive: true });
