import { defineConfig, type ViteUserConfig } from "vitest/config";

// In a project that has installed Snakepit from npm none of it is needed: here its
// packages are sources.
const conditions = ["snakepit-source", "node"];
const config: ViteUserConfig = defineConfig({
	root: import.meta.dirname,
	resolve: { conditions },
	ssr: { resolve: { conditions } },
	test: { include: ["vitest/*.test.ts"] },
});
export default config;
