import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../scripts/run.ts";
import { type Area, LEFT_OUT } from "./areas.ts";
import type { Workspace } from "./workspace.ts";

/** Names the plugin below, and its option. */
const SAMPLE = "sample";

/**
 * Changes the code of one area, or of these files of it, in the ways that Stryker knows, and shows what its tests do not
 * notice, and the counts of each file.
 *
 * @param sample every nth mutant runs.
 */
export function runArea(
	{ name, mutate, tests }: Area,
	{ directory, enclosed, env }: Workspace,
	files: readonly string[],
	sample: number,
): void {
	const conditions = ["snakepit-source", "node"];
	const vitest = {
		...{ resolve: { conditions }, ssr: { resolve: { conditions } } },
		test: {
			...{ include: tests, exclude: LEFT_OUT, isolate: false, pool: "threads" },
			// Stryker ends a mutant that hangs; some tests start a program, and others use the machine.
			testTimeout: 180_000,
		},
	};
	const stryker = {
		testRunner: "vitest",
		plugins: ["@stryker-mutator/vitest-runner", "./mutation/src/stryker.ts"],
		checkers: [SAMPLE],
		// It does not know the option of our plugin.
		warnings: { unknownOptions: false },
		[SAMPLE]: sample,
		vitest: { configFile: "vitest.mutation.ts" },
		mutate: files.length > 0 ? files : mutate,
		coverageAnalysis: "perTest",
		timeoutMS: 20_000,
		reporters: ["progress-append-only", "clear-text"],
		clearTextReporter: { reportTests: false, skipFull: true },
		// It would rewrite the tsconfig files with an API that TypeScript 7 lacks.
		tsconfigFile: "none.json",
		// Texts of messages are read by people; tests of them would only repeat them.
		mutator: { excludedMutations: ["StringLiteral"] },
	};
	writeFileSync(
		join(directory, "vitest.mutation.ts"),
		`export default ${JSON.stringify(vitest)};\n`,
	);
	writeFileSync(
		join(directory, "stryker.config.json"),
		JSON.stringify(stryker),
	);
	const [command = "", ...args] = [
		...[...enclosed, join(directory, "node_modules/.bin/node")],
		...["node_modules/@stryker-mutator/core/bin/stryker.js", "run"],
	];
	if (run(command, args, { cwd: directory, env }) !== 0)
		throw new Error(`Stryker failed in area ${name}`);
}

/** Stryker asks a checker whether a mutant can run; this one lets every nth of them. */
class SampleChecker {
	static readonly inject = ["options"] as const;
	readonly #every: number;

	constructor(options: { readonly [SAMPLE]?: number }) {
		this.#every = options[SAMPLE] ?? 1;
	}

	async init(): Promise<void> {}

	async check(
		mutants: readonly { readonly id: string }[],
	): Promise<Record<string, { status: string; reason?: string }>> {
		return Object.fromEntries(
			mutants.map(({ id }) => [
				id,
				Number(id) % this.#every === 0
					? { status: "passed" }
					: { status: "compileError", reason: "not in the sample" },
			]),
		);
	}

	async group(
		mutants: readonly { readonly id: string }[],
	): Promise<string[][]> {
		return [mutants.map(({ id }) => id)];
	}
}

export const strykerPlugins: readonly object[] = [
	{ kind: "Checker", name: SAMPLE, injectableClass: SampleChecker },
];
