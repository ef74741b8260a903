import { globSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { testPython } from "../../../scripts/python-environment.ts";
import { dataDirectory } from "../../../scripts/test-data-directory.ts";
import type { McpOptions } from "../src/index.ts";

const load = createRequire(import.meta.url);

/** The command of a server from npm that this package has for its tests. */
export function server(name: "everything" | "filesystem"): readonly string[] {
	const manifest = load.resolve(
		`@modelcontextprotocol/server-${name}/package.json`,
	);
	return [process.execPath, join(dirname(manifest), "dist/index.js")];
}

/** The same server `everything` as npx starts what is installed: below a shell, with the Node of this test. */
export const BELOW_NPX: McpOptions = {
	command: ["npx", "--no-install", "mcp-server-everything"],
	cwd: join(import.meta.dirname, ".."),
	env: {
		PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`,
	},
};

/** The server in Python with one version of its library: by itself, and below uv, as `uv run` and `uvx` start it. @throws Error when the library cannot be installed. */
export function pythonServer(version: string): {
	readonly alone: McpOptions;
	readonly belowUv: McpOptions;
	readonly belowUvx: McpOptions;
} {
	const python = testPython({
		name: `mcp-${version}`,
		requirements: [`mcp==${version}`, "uv==0.13.9"],
	});
	if (python === undefined)
		throw new Error(`mcp ${version} could not be installed.`);
	const program = join(import.meta.dirname, "programs/server.py");
	const uv = join(dirname(python), "uv");
	const [library] = globSync("lib/python*/site-packages", {
		cwd: join(dirname(python), ".."),
	});
	return {
		alone: { command: [python, program] },
		belowUv: {
			command: [
				...[uv, "run", "--no-project", "--offline"],
				...["--python", python, program],
			],
		},
		belowUvx: {
			command: [
				...[`${uv}x`, "--offline", "--python", python, "--from"],
				join(import.meta.dirname, "programs/below-uvx"),
				...["below-uvx", program],
			],
			env: {
				UV_CACHE_DIR: dataDirectory(),
				PYTHONPATH: join(dirname(python), "..", library ?? ""),
			},
		},
	};
}
