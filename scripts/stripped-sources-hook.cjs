// Loaded before the programs that tests start: TypeScript of this repository is loaded in half the processor time.
//
// Node looks at every relative import for what it may be, and strips each file's types. Here a relative import of a .ts
// file is that file, and scripts/stripped-sources.ts has stripped it. A file that changed since is loaded as ever.
const { readFileSync, statSync } = require("node:fs");
const { registerHooks } = require("node:module");
const { join, sep } = require("node:path");
const { fileURLToPath, pathToFileURL } = require("node:url");

const root = join(__dirname, "..");
const rootUrl = `${pathToFileURL(root).href}/`;
const stripped = join(root, "node_modules/.cache/stripped");

/** Where a file's text without types is, for the moment at which it was changed last. */
function strippedPath(file) {
	const name = file.slice(root.length + 1).replaceAll(sep, "%");
	return join(stripped, `${name}@${statSync(file).mtimeMs}`);
}

const isOurs = (url) =>
	url?.startsWith(rootUrl) && !url.includes("/node_modules/");

function resolve(specifier, context, next) {
	const { parentURL } = context;
	return /^\.\.?\/.*\.ts$/.test(specifier) && isOurs(parentURL)
		? {
				url: new URL(specifier, parentURL).href,
				format: "module-typescript",
				shortCircuit: true,
			}
		: next(specifier, context);
}

function load(url, context, next) {
	if (!url.endsWith(".ts") || !isOurs(url)) return next(url, context);
	try {
		const source = readFileSync(strippedPath(fileURLToPath(url)), "utf8");
		return { format: "module", source, shortCircuit: true };
	} catch {
		return next(url, context);
	}
}

// Programs may be started by an older Node.
registerHooks?.({ resolve, load });

module.exports = { stripped, strippedPath };
