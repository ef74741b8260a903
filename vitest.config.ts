import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { namespacePool } from "./scripts/ray/test-pool.ts";
import { testWorkersEnv } from "./scripts/test-workers.ts";

// `snakepit-source` makes `@snakepit/*` resolve to its TypeScript sources, here,
// in tsc, and in programs that tests start: node --conditions=snakepit-source x.ts
// Published packages do not have the condition.
const conditions = ["snakepit-source", "node"];

/** A promise that nothing is left behind is as good as its least tested branch. */
const cleanupPaths = [
	"packages/core/src/registry/",
	"packages/core/src/run/",
	"packages/core/src/audit/",
	"packages/core/src/cleanup/",
	"packages/core/src/process/owned-process.ts",
	"packages/core/src/worker/worker-starter.ts",
];

/** Where Node keeps what it compiled: programs that tests start begin in half the time. */
export const compiled: string = fileURLToPath(
	new URL("node_modules/.cache/compiled", import.meta.url),
);

/** In the place of the user's cache: tests neither read nor change that. Environments are kept, for they take a minute. */
export const cache: string = fileURLToPath(
	new URL("node_modules/.cache/tests", import.meta.url),
);

/** Tests with a Ray cluster: they run in a network that has only loopback. */
const CLUSTER = "{packages/*,chaos}/test/cluster/**/*.test.ts";

/** What holds for all tests. */
const shared = {
	// No test leaves anything in its process, and each start costs much.
	isolate: false,
	env: {
		NODE_COMPILE_CACHE: compiled,
		XDG_CACHE_HOME: cache,
		...testWorkersEnv(),
	},
	setupFiles: ["scripts/test-setup.ts"],
	// Most tests wait for processes that they have started: with as many files as cores,
	// cores are idle for half of the time.
	maxWorkers: availableParallelism() + 2,
	// Real processes start slowly on a busy machine; a test ends by its events.
	testTimeout: 60_000,
	hookTimeout: 60_000,
	// What is waited for comes in its own time; by default one second is all it has.
	expect: { poll: { timeout: 30_000 } },
};

/** Files that start many programs one after the other. */
const LONG: readonly RegExp[] = [
	/\/chaos\//,
	/\/test\/watchdog\//,
	/\/test\/promises\//,
	/\/adapter-(grpc-)?python\/test\/contract/,
	/\/demo\.test|\/otlp-|\/\w+-demo\.test/,
];

/** What takes longest begins first: else it would be alone at the end, and a core idle. */
class LongestFirst extends BaseSequencer {
	override async sort(
		files: TestSpecification[],
	): Promise<TestSpecification[]> {
		const place = ({ moduleId }: TestSpecification): number => {
			const found = LONG.findIndex((path) => path.test(moduleId));
			return found < 0 ? LONG.length : found;
		};
		const sorted = await super.sort(files);
		return sorted.sort((a, b) => place(a) - place(b));
	}
}

export default defineConfig({
	test: {
		projects: [
			{
				resolve: { conditions },
				ssr: { resolve: { conditions } },
				test: {
					...shared,
					name: "processes",
					include: [
						"{packages,apps,examples}/*/test/**/*.test.ts",
						"{bench,chaos,examples}/test/**/*.test.ts",
					],
					exclude: [...configDefaults.exclude, CLUSTER],
					pool: "forks",
					sequence: { groupOrder: 1 },
				},
			},
			{
				resolve: { conditions },
				ssr: { resolve: { conditions } },
				test: {
					...shared,
					name: "cluster",
					include: [CLUSTER],
					pool: namespacePool,
					globalSetup: ["scripts/ray/test-prepare.ts"],
					// One worker, and so one cluster for all files: its nodes cost more than their tests. First, beside
					// pytest, for the others have enough to do without it.
					maxWorkers: 1,
					sequence: { groupOrder: 0 },
					// A node of Ray takes seconds to start.
					testTimeout: 300_000,
					hookTimeout: 300_000,
				},
			},
		],
		globalSetup: ["scripts/test-global-setup.ts"],
		sequence: { sequencer: LongestFirst },
		coverage: {
			provider: "v8",
			include: ["packages/*/src/**/*.ts"],
			exclude: ["**/src/gen/**"],
			reportOnFailure: true,
			reporter: [["text", { skipFull: true }]],
			thresholds: Object.fromEntries(
				cleanupPaths.map((path) => [
					path.replace(/\/$/, "/**"),
					{ branches: 100 },
				]),
			),
		},
	},
});
