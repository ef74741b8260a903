import { defineConfig } from "drizzle-kit";

export default defineConfig({
	dialect: "sqlite",
	schema: [
		"src/registry/ledger.ts",
		"src/registry/incident-rows.ts",
		"src/registry/failed-call-rows.ts",
	],
	out: "migrations",
});
