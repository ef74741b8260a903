import { defineConfig } from "drizzle-kit";

export default defineConfig({
	dialect: "sqlite",
	schema: "src/registry/schema.ts",
	out: "migrations",
});
