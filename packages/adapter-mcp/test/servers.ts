import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const load = createRequire(import.meta.url);

/** The command of a server from npm that this package has for its tests. */
export function server(name: "everything" | "filesystem"): readonly string[] {
	const manifest = load.resolve(
		`@modelcontextprotocol/server-${name}/package.json`,
	);
	return [process.execPath, join(dirname(manifest), "dist/index.js")];
}
