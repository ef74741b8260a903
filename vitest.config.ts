import { defineConfig } from "vitest/config";

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

export default defineConfig({
	resolve: { conditions },
	ssr: { resolve: { conditions } },
	test: {
		include: [
			"{packages,apps,examples}/*/test/**/*.test.ts",
			"{bench,chaos}/test/**/*.test.ts",
		],
		pool: "forks",
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
