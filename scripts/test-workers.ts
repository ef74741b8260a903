import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./run.ts";

/** How the Python workers of all tests are made that do not choose themselves. */
export interface TestWorkers {
	readonly preload?: "tools";
}

/** The variable that chooses; unset, workers are as users get them. */
export const TEST_WORKERS = "SNAKEPIT_TEST_WORKERS";

const WAYS: Readonly<Record<string, TestWorkers>> = {
	"": {},
	preloaded: { preload: "tools" },
};

/** What the environment chooses. @throws Error when it is none of the ways. */
export function testWorkers(
	chosen: string = process.env[TEST_WORKERS] ?? "",
): TestWorkers {
	const way = WAYS[chosen];
	if (way !== undefined) return way;
	throw new Error(
		`${TEST_WORKERS} is ${Object.keys(WAYS).filter(Boolean).join(", ")} or not set; not "${chosen}".`,
	);
}

/** Programs that tests start load Drizzle as one file, which takes a tenth of the time (scripts/test-global-setup.ts). */
const BUNDLED = "--conditions=snakepit-bundled";

/** They load sources whose types are stripped already, which takes half of the processor time. */
const STRIPPED = `--require="${join(import.meta.dirname, "stripped-sources-hook.cjs")}"`;

/** The files of the adapters with their defaults. */
export const OPTIONS_FILES: readonly string[] = [
	"adapter-python",
	"adapter-grpc-python",
].map((name) => join(root, "packages", name, "src/options.ts"));

/** The environment that gives programs which tests start the chosen defaults. */
export function testWorkersEnv(
	chosen?: string,
): Readonly<Record<string, string>> {
	const options = `${BUNDLED} ${STRIPPED}`;
	if (Object.keys(testWorkers(chosen)).length === 0)
		return { NODE_OPTIONS: options };
	const hook = join(import.meta.dirname, "test-workers-hook.ts");
	return { NODE_OPTIONS: `${options} --import=${pathToFileURL(hook).href}` };
}
