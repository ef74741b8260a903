import { defineConfig } from "drizzle-kit";

export default defineConfig({
	dialect: "sqlite",
	schema: "src/registry/ledger.ts",
	out: "migrations",
});
