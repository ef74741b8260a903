import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./run.ts";

/** How the Python workers are made of all tests that do not say it themselves. */
export interface TestWorkers {
	readonly transport?: "framed";
	readonly preload?: true;
}

/** The variable that chooses; unset, workers are as users get them. */
export const TEST_WORKERS = "SNAKEPIT_TEST_WORKERS";

const WAYS: Readonly<Record<string, TestWorkers>> = {
	framed: { transport: "framed" },
	preloaded: { preload: true },
	"framed+preloaded": { transport: "framed", preload: true },
};

/** What the environment chooses. @throws Error when it is none of the ways. */
export function testWorkers(
	chosen: string = process.env[TEST_WORKERS] ?? "",
): TestWorkers {
	if (chosen === "") return {};
	const way = WAYS[chosen];
	if (way !== undefined) return way;
	throw new Error(
		`${TEST_WORKERS} is ${Object.keys(WAYS).join(", ")} or not set; not "${chosen}".`,
	);
}

/** The adapter's file with its defaults. */
export const OPTIONS_FILE: string = join(
	root,
	"packages/adapter-grpc-python/src/options.ts",
);

/** What vitest needs so that tests, and programs that they start, have the chosen defaults. */
export function testWorkersSettings(chosen?: string): {
	readonly setupFiles: string[];
	readonly env: Readonly<Record<string, string>>;
} {
	if (Object.keys(testWorkers(chosen)).length === 0)
		return { setupFiles: [], env: {} };
	const at = (name: string): string => join(import.meta.dirname, name);
	const hook = pathToFileURL(at("test-workers-hook.ts")).href;
	return {
		setupFiles: [at("test-workers-setup.ts")],
		env: { NODE_OPTIONS: `--import=${hook}` },
	};
}
