import { defineConfig } from "vitest/config";

// `snakepit-source` makes `@snakepit/*` resolve to its TypeScript sources, here,
// in tsc, and in programs that tests start: node --conditions=snakepit-source x.ts
// Published packages do not have the condition.
const conditions = ["snakepit-source", "node"];

export default defineConfig({
	resolve: { conditions },
	ssr: { resolve: { conditions } },
	test: {
		include: ["{packages,apps,examples}/*/test/**/*.test.ts"],
		pool: "forks",
		coverage: {
			provider: "v8",
			include: ["packages/*/src/**/*.ts"],
			exclude: ["**/src/gen/**"],
			reporter: [["text", { skipFull: true }], "json-summary"],
			// A promise that nothing is left behind is as good as its least tested branch.
			thresholds: {
				"packages/core/src/registry/**": { branches: 100 },
				"packages/core/src/cleanup/**": { branches: 100 },
				"packages/core/src/worker/worker-starter.ts": { branches: 100 },
			},
		},
	},
});
