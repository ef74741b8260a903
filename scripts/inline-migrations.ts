// Writes core's migrations, which drizzle-kit makes as files of SQL, as one module:
// a bundler takes no files with it that are read by their path.
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
