import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { LspOptions } from "../src/index.ts";

const load = createRequire(import.meta.url);

/** Servers that this package has for its tests. */
export const SERVERS: Readonly<
	Record<"tiny" | "pyright" | "typescript", LspOptions>
> = {
	tiny: {
		command: [
			process.execPath,
			fileURLToPath(new URL("programs/tiny-server.mjs", import.meta.url)),
		],
	},
	pyright: {
		command: [
			process.execPath,
			load.resolve("pyright/langserver.index.js"),
			"--stdio",
		],
	},
	typescript: {
		command: [
			process.execPath,
			fileURLToPath(
				new URL(
					"lib/cli.mjs",
					import.meta.resolve("typescript-language-server/package.json"),
				),
			),
			"--stdio",
		],
		initializationOptions: {
			tsserver: { path: load.resolve("typescript-6/lib/tsserver.js") },
		},
	},
};
