// Writes core's migrations, which drizzle-kit makes as files of SQL, as one module:
// a bundler takes no files with it that are read by their path. And what they lead to as another one: the file of a new
// run is made of that, since to go through all steps takes longer with each.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { root } from "./run.ts";

const core = join(root, "packages/core");
const load = createRequire(join(core, "package.json"));
const migrator: {
	readMigrationFiles(config: { migrationsFolder: string }): readonly object[];
} = load("drizzle-orm/migrator");

const migrations = migrator.readMigrationFiles({
	migrationsFolder: join(core, "migrations"),
});
writeFileSync(
	join(core, "src/registry/gen/migrations.ts"),
	`// Made from packages/core/migrations by \`npx pnpm@12 generate\`.

/** One step from an older ledger to a newer, as Drizzle's migrator takes it. */
export interface Migration {
	readonly sql: string[];
	readonly bps: boolean;
	readonly folderMillis: number;
	readonly hash: string;
}

/** Every step, oldest first. */
export const MIGRATIONS: readonly Migration[] = ${JSON.stringify(migrations, undefined, "\t")};
`,
);

const { loadSqlite } = await import(join(core, "src/registry/sqlite.ts"));
const { client, ledger } = (await loadSqlite()).inMemory();
ledger.migrate();
const tables: readonly string[] = client
	.prepare(
		"select sql from sqlite_master where type = 'table' and name not like 'sqlite%'",
	)
	.pluck()
	.all();
const steps: readonly { readonly hash: string; readonly created_at: number }[] =
	client.prepare("select hash, created_at from __drizzle_migrations").all();
client.close();
const statements = [
	...tables,
	...steps.map(
		({ hash, created_at }) =>
			`INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('${hash}', ${created_at})`,
	),
];
writeFileSync(
	join(core, "src/registry/gen/schema.ts"),
	`// Made from packages/core/migrations by \`npx pnpm@12 generate\`.

/** What all migrations make of an empty database. */
export const SCHEMA: string = ${JSON.stringify(statements.map((each) => `${each};`).join("\n"))};
`,
);
