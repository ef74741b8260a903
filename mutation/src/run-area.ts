import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../scripts/run.ts";
import { type Area, LEFT_OUT } from "./areas.ts";
import type { Enclosure } from "./enclosure.ts";
import { SAMPLE } from "./sample-checker.ts";
import { type FileScore, fileScores } from "./score.ts";
import { testsOf } from "./tests-of.ts";

const REPORT = "reports/mutation/mutation.json";

/** Which mutants of an area run. */
export interface Choice {
	/** Of these files; of all without one. */
	readonly files: readonly string[];
	/** Every nth of them. */
	readonly sample: number;
}

/** Changes the code of one area in the ways that Stryker knows, and counts what its tests notice. */
export function runArea(
	area: Area,
	workspace: string,
	{ prefix, handOver }: Enclosure,
	{ files, sample }: Choice,
): readonly FileScore[] {
	const home = join(workspace, ".home");
	rmSync(join(workspace, REPORT), { force: true });
	for (const directory of [workspace, home]) {
		mkdirSync(directory, { recursive: true });
		handOver(directory);
	}
	writeFileSync(
		join(workspace, "vitest.mutation.ts"),
		vitestConfig(testsOf(area, files, workspace)),
	);
	writeFileSync(
		join(workspace, "stryker.config.json"),
		strykerConfig(files.length > 0 ? files : area.mutate, sample),
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

function vitestConfig(tests: readonly string[]): string {
	const test = {
		include: tests,
		exclude: LEFT_OUT,
		isolate: false,
		pool: "threads",
		// Stryker ends a mutant that hangs; some tests start a program, and others use the machine.
		testTimeout: 180_000,
	};
	const conditions = ["snakepit-source", "node"];
	const config = {
		resolve: { conditions },
		ssr: { resolve: { conditions } },
		test,
	};
	return `export default ${JSON.stringify(config)};\n`;
}

function strykerConfig(mutate: readonly string[], sample: number): string {
	return JSON.stringify({
		testRunner: "vitest",
		plugins: [
			"@stryker-mutator/vitest-runner",
			"./mutation/src/sample-checker.ts",
		],
		checkers: [SAMPLE],
		// It does not know the option of our plugin.
		warnings: { unknownOptions: false },
		[SAMPLE]: sample,
		vitest: { configFile: "vitest.mutation.ts" },
		mutate,
		coverageAnalysis: "perTest",
		timeoutMS: 20_000,
		reporters: ["progress-append-only", "clear-text", "json"],
		clearTextReporter: { reportTests: false, skipFull: true },
		// It would rewrite the tsconfig files with an API that TypeScript 7 lacks.
		tsconfigFile: "none.json",
		// Texts of messages are read by people; tests of them would only repeat them.
		mutator: { excludedMutations: ["StringLiteral"] },
	});
}
