import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../scripts/run.ts";
import { type Area, LEFT_OUT } from "./areas.ts";
import type { Enclosure } from "./enclosure.ts";
import { type FileScore, fileScores } from "./score.ts";

const REPORT = "reports/mutation/mutation.json";

/** Changes the code of one area in every way that Stryker knows, and counts what its tests notice. */
export function runArea(
	area: Area,
	workspace: string,
	{ prefix, handOver }: Enclosure,
	only: readonly string[],
): readonly FileScore[] {
	const home = join(workspace, ".home");
	rmSync(join(workspace, REPORT), { force: true });
	for (const directory of [workspace, home]) {
		mkdirSync(directory, { recursive: true });
		handOver(directory);
	}
	writeFileSync(join(workspace, "vitest.mutation.ts"), vitestConfig(area));
	writeFileSync(
		join(workspace, "stryker.config.json"),
		strykerConfig(only.length > 0 ? only : area.mutate),
	);
	const [command = "", ...args] = [
		...prefix,
		join(workspace, "node_modules/.bin/node"),
		"node_modules/@stryker-mutator/core/bin/stryker.js",
		"run",
	];
	const status = run(command, args, {
		cwd: workspace,
		env: { PATH: process.env["PATH"], HOME: home, TMPDIR: home },
	});
	if (status !== 0) throw new Error(`Stryker failed in area ${area.name}`);
	return fileScores(JSON.parse(readFileSync(join(workspace, REPORT), "utf8")));
}

function vitestConfig({ tests }: Area): string {
	const test = {
		include: tests,
		exclude: LEFT_OUT,
		setupFiles: ["scripts/test-setup.ts"],
		globalSetup: ["scripts/test-global-setup.ts"],
		isolate: false,
		pool: "threads",
		testTimeout: 30_000,
	};
	const conditions = ["snakepit-source", "node"];
	const config = {
		resolve: { conditions },
		ssr: { resolve: { conditions } },
		test,
	};
	return `export default ${JSON.stringify(config)};\n`;
}

function strykerConfig(mutate: readonly string[]): string {
	return JSON.stringify({
		testRunner: "vitest",
		plugins: ["@stryker-mutator/vitest-runner"],
		vitest: { configFile: "vitest.mutation.ts" },
		mutate,
		coverageAnalysis: "perTest",
		timeoutMS: 20_000,
		reporters: ["clear-text", "json"],
		clearTextReporter: { reportTests: false, skipFull: true },
		// It would rewrite the tsconfig files with an API that TypeScript 7 lacks.
		tsconfigFile: "none.json",
		// Texts of messages are read by people; tests of them would only repeat them.
		mutator: { excludedMutations: ["StringLiteral"] },
	});
}
