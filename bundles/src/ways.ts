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
const NEXT = ["next", "react", "react-dom"];
const NEXT_PROGRAM = "node_modules/next/dist/bin/next";

/** A program of the project that bundles, and what it makes. */
function bundler(
	name: string,
	bundlers: readonly string[],
	build: readonly string[],
	[built, program]: readonly [directory: string, program: string],
	outside: readonly string[] = [],
): Way {
	return {
		...{ name, bundlers },
		// Runs where nothing is installed but what stays outside of the bundle.
		run: async ({ directory, env, deploy }) => {
			must(process.execPath, [...build], { cwd: directory, env });
			const deployed = deploy(built, [...OUTSIDE, ...outside]);
			return runProgram(deployed, [process.execPath, program], env);
		},
	};
}

/** What a program is started as: each says something else about where it is. */
const STARTS = ["./app", "app", "/absolute/app"] as const;

/**
 * An executable that contains the program, which runs where the packages that it cannot contain are beside it. Started
 * from elsewhere, another `better-sqlite3` is in the working directory: it must not be loaded.
 *
 * @param build the name of its configuration, and of the directory that this makes.
 */
function executable(
	runtime: string,
	bundlers: readonly string[],
	toolOf: (project: Project) => Tool,
	build: string,
): Way {
	return {
		...{ name: `single executable, ${runtime}`, bundlers },
		// On macOS an executable must be signed after it was changed.
		problem: (project) => {
			if (process.platform !== "linux") return "it is tried on Linux";
			const tool = toolOf(project);
			return "problem" in tool ? tool.problem : undefined;
		},
		run: async (project) => {
			const tool = toolOf(project);
			if ("problem" in tool) throw new Error(tool.problem);
			const { directory, deploy } = project;
			must(tool.path, [`${build}.mjs`], { cwd: directory, env: project.env });
			const deployed = deploy(`out/${build}`, OUTSIDE);
			const elsewhere = join(deployed, "elsewhere");
			const planted = join(elsewhere, "node_modules/better-sqlite3");
			mkdirSync(planted, { recursive: true });
			writeFileSync(
				join(planted, "index.js"),
				'throw new Error("loaded from the working directory");',
			);
			// The watchdog is a program for Node.
			const path = [deployed, dirname(process.execPath), project.env["PATH"]];
			const env = { ...project.env, PATH: path.join(delimiter) };
			const [first = "", ...others] = STARTS.map((start) =>
				runProgram(
					start === "./app" ? deployed : elsewhere,
					[start.replace("/absolute", deployed)],
					env,
				),
			);
			for (const other of others) assert.equal(other, first);
			return first;
		},
	};
}

export const WAYS: readonly Way[] = [
	{
		name: "no bundler, CommonJS",
		bundlers: [],
		run: async ({ directory, env }) =>
			runProgram(directory, [process.execPath, "required.cjs"], env),
	},
	bundler(
		...(["esbuild, CommonJS", ["esbuild"], ["esbuild-cjs.mjs"]] as const),
		["out/esbuild-cjs", "main.cjs"],
	),
	bundler(
		...(["esbuild, ES module", ["esbuild"], ["esbuild-esm.mjs"]] as const),
		["out/esbuild-esm", "main.mjs"],
		["@grpc/grpc-js"],
	),
	bundler(
		"webpack",
		["webpack", "webpack-cli"],
		["node_modules/webpack/bin/webpack.js"],
		["out/webpack", "main.cjs"],
	),
	bundler(
		"Rollup",
		[
			"rollup",
			...["commonjs", "json", "node-resolve"].map(
				(plugin) => `@rollup/plugin-${plugin}`,
			),
		],
		["node_modules/rollup/dist/bin/rollup", "--config", "--silent"],
		["out/rollup", "main.mjs"],
	),
	bundler(
		"Vite, SSR",
		["vite"],
		["node_modules/vite/bin/vite.js", "build"],
		["out/vite", "main.js"],
	),
	{
		name: "Next.js, start",
		bundlers: NEXT,
		async run({ directory, env }) {
			const config = join(directory, "next.config.mjs");
			const aside = join(directory, "standalone.config.mjs");
			// It needs no configuration: the page's is for the way after this.
			renameSync(config, aside);
			must(process.execPath, [NEXT_PROGRAM, "build"], { cwd: directory, env });
			const answer = await askServer(
				(port) => [
					...[NEXT_PROGRAM, "start", "-H", "127.0.0.1", "-p", String(port)],
				],
				...(["/answers", directory, env] as const),
			);
			renameSync(aside, config);
			return answer;
		},
	},
	{
		name: "Next.js, standalone",
		bundlers: NEXT,
		async run({ directory, env, deploy }) {
			must(process.execPath, [NEXT_PROGRAM, "build"], { cwd: directory, env });
			const deployed = deploy(".next/standalone", []);
			return await askServer(() => ["server.js"], "/answers", deployed, env);
		},
	},
	executable(
		"Node 24 and older",
		["esbuild", "postject"],
		...([() => ({ path: process.execPath }), "sea-blob"] as const),
	),
	executable("Node 26", ["esbuild"], ({ node26 }) => node26, "sea"),
	executable("Bun", [], ({ bun }) => bun, "bun"),
];

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
