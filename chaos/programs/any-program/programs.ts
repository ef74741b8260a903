import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { testPython } from "../../../scripts/python-environment.ts";
import { languageServer } from "./language-server.ts";
import type { AnyProgram } from "./launcher.ts";
import { mcpServer } from "./mcp-server.ts";
import { plainProgram } from "./plain-program.ts";

const here = import.meta.dirname;
const load = createRequire(import.meta.url);
const installed = (name: string, path: string): string =>
	join(dirname(load.resolve(`${name}/package.json`)), path);

/** An interpreter that has these packages. */
function pythonWith(name: string, requirements: string[]): string {
	const python = testPython({ name, requirements });
	if (python === undefined)
		throw new Error(`${requirements.join(", ")} could not be installed.`);
	return python;
}

const everything = () => ({
	command: [
		process.execPath,
		installed("@modelcontextprotocol/server-everything", "dist/index.js"),
	],
});
const everythingBelowNpx = () => ({
	command: ["npx", "--no-install", "mcp-server-everything"],
	cwd: join(here, "../.."),
	env: {
		PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`,
	},
});
const pyright = () => ({
	command: [
		process.execPath,
		installed("pyright", "langserver.index.js"),
		"--stdio",
	],
});
const PYTHON = {
	uri: "file:///nowhere/a.py",
	languageId: "python",
	version: 1,
	text: "answer = 42\n",
};
const LONG = [
	"trigger-long-running-operation",
	{ duration: 3_600, steps: 1 },
] as const;
const shell = (script: string) => () => ["/bin/sh", "-c", script];
const stage = () => process.env["CHAOS_STAGE"] ?? "";

/** Programs that people often start from their own. */
export const PROGRAMS: readonly AnyProgram[] = [
	mcpServer("MCP server-everything", everything),
	mcpServer("MCP server-everything", everything, LONG),
	mcpServer("MCP server-everything below npx", everythingBelowNpx),
	mcpServer("MCP server-everything below npx", everythingBelowNpx, LONG),
	mcpServer("MCP server in Python below `uv run`", () => {
		const python = pythonWith("mcp-2.3.0", ["mcp==2.3.0", "uv==0.13.9"]);
		return {
			command: [
				...[join(dirname(python), "uv"), "run", "--no-project", "--offline"],
				...["--python", python, join(here, "mcp_server.py")],
			],
		};
	}, ["wait", {}]),
	languageServer("pyright, after a hover", pyright, PYTHON),
	languageServer("pyright, in a call", pyright, PYTHON, {
		...PYTHON,
		uri: "file:///nowhere/large.py",
		text: Array.from(
			{ length: 40_000 },
			(_, n) => `a${n} = {"a": [${n}]}\n`,
		).join(""),
	}),
	languageServer(
		"typescript-language-server, after a hover",
		() => ({
			command: [
				process.execPath,
				installed("typescript-language-server", "lib/cli.mjs"),
				"--stdio",
			],
			initializationOptions: {
				tsserver: { path: load.resolve("typescript-6/lib/tsserver.js") },
			},
		}),
		{
			uri: "file:///nowhere/a.ts",
			languageId: "typescript",
			version: 1,
			text: "let answer = 42;\n",
		},
	),
	plainProgram(
		"uvicorn with two workers, idle",
		() => [
			pythonWith("uvicorn", ["uvicorn==0.54.0"]),
			...["-m", "uvicorn", "--app-dir", here, "--workers", "2"],
			...["--uds", join(stage(), "uvicorn.sock"), "asgi:app"],
		],
		[/first worker is up/, /second worker is up/],
	),
	plainProgram(
		"a shell with two children, idle",
		shell("sleep 1000 & sleep 1000 & echo up; wait"),
		[/up/],
	),
	plainProgram(
		"a shell with two children, busy",
		shell("sleep 1000 & sleep 1000 & echo up; while :; do :; done"),
		[/up/],
	),
	plainProgram(
		"a shell, and its child in a session of its own",
		shell("setsid sleep 1000 & echo up; wait"),
		[/up/],
	),
	plainProgram(
		"a shell, and a daemon that left and cleared its environment",
		// It is found by the file that it reads.
		shell(
			': > "$CHAOS_STAGE/daemon"; setsid env -i tail -f "$CHAOS_STAGE/daemon" < /dev/null > /dev/null 2>&1 & echo up; wait',
		),
		[/up/],
	),
];
