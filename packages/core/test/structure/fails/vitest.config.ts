import { defineConfig, type ViteUserConfig } from "vitest/config";

// Not named `*.test.ts`: they run below a test only.
const config: ViteUserConfig = defineConfig({
	root: import.meta.dirname,
	test: { include: ["*.fails.ts"] },
});
export default config;
