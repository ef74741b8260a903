import { join } from "node:path";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { expect, test } from "vitest";
import { MIGRATIONS } from "../../src/registry/gen/migrations.ts";
import { SCHEMA } from "../../src/registry/gen/schema.ts";
import type { SqliteConnection } from "../../src/registry/sqlite.ts";
import { sqlite } from "../cleanup/bench.ts";

test("the migrations in the code are those of the files, in their order", () => {
	const migrationsFolder = join(import.meta.dirname, "../../migrations");
	const files = readMigrationFiles({ migrationsFolder });
	expect(files.length).toBeGreaterThan(0);
	expect(MIGRATIONS).toEqual(files);
});

/** The tables of a database, and the steps that are said to have made them. */
function content({ client }: SqliteConnection): readonly unknown[] {
	const tables = client.prepare("select type, name, sql from sqlite_master");
	const steps = client.prepare("select * from __drizzle_migrations");
	return [tables.all(), steps.all()];
}

test("the file of a new run has what all migrations make, without going through them", () => {
	const [made, migrated] = [sqlite.inMemory(), sqlite.inMemory()];
	made.client.exec(SCHEMA);
	migrated.ledger.migrate();
	expect(content(made)).toEqual(content(migrated));
	made.ledger.migrate();
	expect(content(made)).toEqual(content(migrated));
});
