import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { PYTHON } from "../support/pythons.ts";

/** What the page says. */
export interface Page {
	/** Of the module that was loaded, and of the function of this program that the tool asked. */
	readonly versions: readonly [module: number, hostFunction: number];
	/** Of the workers of the pool. */
	readonly pids: readonly number[];
}

const packagesDirectory = fileURLToPath(new URL("../../..", import.meta.url));

/** A project with a page that asks a tool, and a module with its pool. */
export function viteProject(maker: "createPool" | "sharedPool"): string {
	const root = temporaryDirectory();
	const scope = join(root, "node_modules/@snakepit");
	mkdirSync(scope, { recursive: true });
	for (const name of ["core", "adapter-python"])
		symlinkSync(join(packagesDirectory, name), join(scope, name));
	const files = {
		"package.json": '{ "type": "module", "private": true }',
		"tools.py": `from snakepit_bridge import current_call, tool


@tool
async def version() -> int:
    return await current_call().host_async("version", None)
`,
		"version.ts": "export const VERSION = 0;\n",
		"pool.ts": `import { python } from "@snakepit/adapter-python";
import { createPool, sharedPool } from "@snakepit/core";
import { VERSION } from "./version.ts";

const options = {
	adapter: python({
		tools: ${JSON.stringify(join(root, "tools.py"))},
		python: ${JSON.stringify(PYTHON)},
		hostFunctions: { version: () => VERSION },
	}),
	size: 2,
	dataDir: ${JSON.stringify(join(root, "ledger"))},
};
export const pool = await ${
			maker === "sharedPool"
				? 'sharedPool("py", options)'
				: "createPool(options)"
		};
`,
		"page.ts": `import { pool } from "./pool.ts";
import { VERSION } from "./version.ts";

export async function render() {
	const asked = await pool.execute("version");
	const pids = pool.workers().map(({ pid }) => pid);
	return { versions: [VERSION, asked], pids };
}
`,
	};
	for (const [name, text] of Object.entries(files))
		writeFileSync(join(root, name), text);
	return root;
}
