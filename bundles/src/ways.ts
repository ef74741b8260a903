import { spawnSync } from "node:child_process";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { must } from "../../scripts/run.ts";
import type { Project } from "./project.ts";
import { askServer } from "./server.ts";

/** One way in which a program is built. */
export interface Way {
	readonly name: string;
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
		run: async ({ directory, env }) =>
			runProgram(directory, "required.cjs", env),
	},
	{
		name: "esbuild, CommonJS",
		run: (project) =>
			bundled(project, ["esbuild-cjs.mjs"], "out/esbuild-cjs", "main.cjs"),
	},
	{
		name: "esbuild, ES module",
		run: (project) =>
			bundled(project, ["esbuild-esm.mjs"], "out/esbuild-esm", "main.mjs", [
				"@grpc/grpc-js",
			]),
	},
	{
		name: "webpack",
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
		async run({ directory, env, deploy }) {
			const next = "node_modules/next/dist/bin/next";
			must(process.execPath, [next, "build"], { cwd: directory, env });
			const deployed = deploy(".next/standalone", []);
			return await askServer(() => ["server.js"], "/answers", deployed, env);
		},
	},
];

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
	return runProgram(deployed, program, env);
}

function runProgram(
	cwd: string,
	program: string,
	env: NodeJS.ProcessEnv,
): string {
	const { status, stdout, stderr } = spawnSync(process.execPath, [program], {
		cwd,
		env,
		encoding: "utf8",
		timeout: 120_000,
	});
	if (status !== 0 || stderr !== "")
		throw new Error(`It ended with ${status}:\n${stdout}${stderr}`);
	return stdout;
}
