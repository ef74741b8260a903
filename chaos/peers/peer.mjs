// The peer that this process was told of: it is installed in a folder of its own.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const directory = process.env.CHAOS_PEER;
const { resolve } = createRequire(join(directory, "package.json"));

/** Loads a package from that folder; what CommonJS exports is not always seen as names. */
export async function peer(name) {
	const module = await import(pathToFileURL(resolve(name)).href);
	return { ...module, ...module.default };
}
