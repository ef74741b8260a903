import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
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

/** The server in Python with one version of its library: by itself, and as `uv run` starts it, below uv. */
export function pythonServer(version: string): {
	readonly alone: McpOptions;
	readonly belowUv: McpOptions;
} {
	const python = pythonWith(`mcp==${version}`, "uv==0.13.9");
	const program = join(import.meta.dirname, "programs/server.py");
	const uv = join(dirname(python), "uv");
	return {
		alone: { command: [python, program] },
		belowUv: {
			command: [
				...[uv, "run", "--no-project", "--offline"],
				...["--python", python, program],
			],
		},
	};
}

/** The interpreter of an environment that is made when it is first needed. */
function pythonWith(...requirements: readonly string[]): string {
	const maker = new URL(
		"../../../scripts/python-environment.ts",
		import.meta.url,
	);
	const directory = fileURLToPath(
		new URL(
			`../../../node_modules/.cache/python/${requirements.join("+")}`,
			import.meta.url,
		),
	);
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[
			"--conditions=snakepit-source",
			"-e",
			`import(${JSON.stringify(maker.href)}).then(({ environment }) => console.log(environment(...${JSON.stringify([directory, requirements])})))`,
		],
		{ encoding: "utf8" },
	);
	if (status !== 0) throw new Error(stderr);
	return stdout.trim();
}
