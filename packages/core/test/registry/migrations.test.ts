import { join } from "node:path";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { expect, test } from "vitest";
import { MIGRATIONS } from "../../src/registry/gen/migrations.ts";

test("the migrations in the code are those of the files, in their order", () => {
	const migrationsFolder = join(import.meta.dirname, "../../migrations");
	const files = readMigrationFiles({ migrationsFolder });
	expect(files.length).toBeGreaterThan(0);
	expect(MIGRATIONS).toEqual(files);
});
