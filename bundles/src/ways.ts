import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { must } from "../../scripts/run.ts";
import type { Project, Tool } from "./project.ts";
import { askServer } from "./server.ts";

/** One way in which a program is built. */
export interface Way {
	readonly name: string;
	/** What it needs of the dependencies in `bundles/package.json`. */
	readonly bundlers: readonly string[];
	/** Why it cannot be tried on this machine, or `undefined`. */
	problem?(project: Project): string | undefined;
	/** Builds it and runs what was built; resolves with what that printed. */
	run(project: Project): Promise<string>;
}

/** What no bundle contains, whatever made it: native code, and programs that are files. */
const OUTSIDE: readonly string[] = [
	"better-sqlite3",
	"@snakepit/watchdog",
	...(process.platform === "linux"
		? [`@snakepit/native-linux-${process.arch}`]
		: []),
];

export const WAYS: readonly Way[] = [
	{
		name: "no bundler, CommonJS",
		bundlers: [],
		run: async ({ directory, env }) =>
			runProgram(directory, [process.execPath, "required.cjs"], env),
	},
	{
		name: "esbuild, CommonJS",
		bundlers: ["esbuild"],
		run: (project) =>
			bundled(project, ["esbuild-cjs.mjs"], "out/esbuild-cjs", "main.cjs"),
	},
	{
		name: "esbuild, ES module",
		bundlers: ["esbuild"],
		run: (project) =>
			bundled(project, ["esbuild-esm.mjs"], "out/esbuild-esm", "main.mjs", [
				"@grpc/grpc-js",
			]),
	},
	{
		name: "webpack",
		bundlers: ["webpack", "webpack-cli"],
		run: (project) =>
			bundled(
				project,
				["node_modules/webpack/bin/webpack.js"],
				"out/webpack",
				"main.cjs",
			),
	},
	{
		name: "Rollup",
		bundlers: [
			"rollup",
			"@rollup/plugin-commonjs",
			"@rollup/plugin-json",
			"@rollup/plugin-node-resolve",
		],
		run: (project) =>
			bundled(
				project,
				["node_modules/rollup/dist/bin/rollup", "--config", "--silent"],
				"out/rollup",
				"main.mjs",
			),
	},
	{
		name: "Vite, SSR",
		bundlers: ["vite"],
		run: (project) =>
			bundled(
				project,
				["node_modules/vite/bin/vite.js", "build"],
				"out/vite",
				"main.js",
			),
	},
	{
		name: "Next.js, start",
		bundlers: ["next", "react", "react-dom"],
		async run({ directory, env }) {
			const next = "node_modules/next/dist/bin/next";
			const config = join(directory, "next.config.mjs");
			const aside = join(directory, "standalone.config.mjs");
			// It needs no configuration: the page's is for the way after this.
			renameSync(config, aside);
			must(process.execPath, [next, "build"], { cwd: directory, env });
			const answer = await askServer(
				(port) => [next, "start", "-H", "127.0.0.1", "-p", String(port)],
				"/answers",
				directory,
				env,
			);
			renameSync(aside, config);
			return answer;
		},
	},
	{
		name: "Next.js, standalone",
		bundlers: ["next", "react", "react-dom"],
		async run({ directory, env, deploy }) {
			const next = "node_modules/next/dist/bin/next";
			must(process.execPath, [next, "build"], { cwd: directory, env });
			const deployed = deploy(".next/standalone", []);
			return await askServer(() => ["server.js"], "/answers", deployed, env);
		},
	},
	{
		name: "single executable, Node 24 and older",
		bundlers: ["esbuild", "postject"],
		problem: onlyLinux,
		run: (project) =>
			executable(project, process.execPath, "sea-blob.mjs", "out/sea-blob"),
	},
	{
		name: "single executable, Node 26",
		bundlers: ["esbuild"],
		problem: (project) => onlyLinux() ?? problemOf(project.node26),
		run: (project) =>
			executable(project, pathOf(project.node26), "sea.mjs", "out/sea"),
	},
	{
		name: "single executable, Bun",
		bundlers: [],
		problem: (project) => onlyLinux() ?? problemOf(project.bun),
		run: (project) =>
			executable(project, pathOf(project.bun), "bun.mjs", "out/bun"),
	},
];

/** On macOS an executable must be signed after it was changed. */
function onlyLinux(): string | undefined {
	return process.platform === "linux" ? undefined : "it is tried on Linux";
}

function problemOf(tool: Tool): string | undefined {
	return "problem" in tool ? tool.problem : undefined;
}

function pathOf(tool: Tool): string {
	if ("problem" in tool) throw new Error(tool.problem);
	return tool.path;
}

/** The ways in which a program is found: each says something else about where it is. */
const STARTS = [
	{ shown: "./app", cwd: (deployed: string) => deployed },
	{ shown: "app", cwd: () => undefined },
	{ shown: "/absolute/app", cwd: () => undefined },
] as const;

/**
 * Builds an executable that contains the program, and runs it where the packages that it cannot contain are beside it.
 * Started from elsewhere, another `better-sqlite3` is in the working directory: it must not be loaded.
 */
async function executable(
	{ directory, env, deploy }: Project,
	builder: string,
	build: string,
	built: string,
): Promise<string> {
	must(builder, [build], { cwd: directory, env });
	const deployed = deploy(built, OUTSIDE);
	const elsewhere = join(deployed, "elsewhere");
	const planted = join(elsewhere, "node_modules/better-sqlite3");
	mkdirSync(planted, { recursive: true });
	writeFileSync(
		join(planted, "index.js"),
		'throw new Error("loaded from the working directory");',
	);
	const answers = STARTS.map(({ shown, cwd }) => {
		const program = shown.replace("/absolute", deployed);
		return runProgram(
			cwd(deployed) ?? elsewhere,
			[program],
			// The watchdog is a program for Node.
			{
				...env,
				PATH: [deployed, dirname(process.execPath), env["PATH"]].join(
					delimiter,
				),
			},
		);
	});
	const [first = ""] = answers;
	assert.deepEqual(
		answers,
		STARTS.map(() => first),
	);
	return first;
}

/** Builds by a program of the project, and runs the bundle where nothing is installed but what stays outside of it. */
async function bundled(
	{ directory, env, deploy }: Project,
	build: readonly string[],
	built: string,
	program: string,
	outside: readonly string[] = [],
): Promise<string> {
	must(process.execPath, [...build], { cwd: directory, env });
	const deployed = deploy(built, [...OUTSIDE, ...outside]);
	return runProgram(deployed, [process.execPath, program], env);
}

function runProgram(
	cwd: string,
	[program = "", ...args]: readonly string[],
	env: NodeJS.ProcessEnv,
): string {
	const { status, stdout, stderr } = spawnSync(program, args, {
		cwd,
		env,
		encoding: "utf8",
		timeout: 120_000,
	});
	if (status !== 0 || stderr !== "")
		throw new Error(`It ended with ${status}:\n${stdout}${stderr}`);
	return stdout;
}
