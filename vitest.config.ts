import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// `snakepit-source` makes `@snakepit/*` resolve to its TypeScript sources, here,
// in tsc, and in programs that tests start: node --conditions=snakepit-source x.ts
// Published packages do not have the condition.
const conditions = ["snakepit-source", "node"];

/** A promise that nothing is left behind is as good as its least tested branch. */
export const cleanupPaths = [
	"packages/core/src/registry/",
	"packages/core/src/cleanup/",
	"packages/core/src/worker/worker-starter.ts",
];

/** What takes longest begins first: else it would be alone at the end, and a core idle. */
class LongestFirst extends BaseSequencer {
	override async sort(
		files: TestSpecification[],
	): Promise<TestSpecification[]> {
		const sorted = await super.sort(files);
		const isLong = ({ moduleId }: TestSpecification): boolean =>
			moduleId.includes("/chaos/");
		return [
			...sorted.filter(isLong),
			...sorted.filter((each) => !isLong(each)),
		];
	}
}

export default defineConfig({
	resolve: { conditions },
	ssr: { resolve: { conditions } },
	test: {
		include: [
			"{packages,apps,examples}/*/test/**/*.test.ts",
			"{bench,chaos}/test/**/*.test.ts",
		],
		pool: "forks",
		// Most tests wait for processes: one file for each core, and no core left out.
		maxWorkers: "100%",
		sequence: { sequencer: LongestFirst },
		// Real processes start slowly on a busy machine; a test ends by its events.
		testTimeout: 30_000,
		hookTimeout: 30_000,
		coverage: {
			provider: "v8",
			include: ["packages/*/src/**/*.ts"],
			exclude: ["**/src/gen/**"],
			reportOnFailure: true,
			reporter: [["text", { skipFull: true }], "json-summary"],
			thresholds: Object.fromEntries(
				cleanupPaths.map((path) => [
					path.replace(/\/$/, "/**"),
					{ branches: 100 },
				]),
			),
		},
	},
});
