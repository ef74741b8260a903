import { defineConfig, type ViteUserConfig } from "vitest/config";

// Not named `*.test.ts`: it runs below a test only.
const config: ViteUserConfig = defineConfig({
	root: import.meta.dirname,
	test: { include: ["leaves-a-process.ts"], pool: "forks" },
});
export default config;
