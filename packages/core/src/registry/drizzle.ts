import { createRequire } from "node:module";

// As CommonJS: for an ES module Node reads the package.json above it, each time anew,
// and that of Drizzle is 180 KB. By `import` it took six times as long.
const load = createRequire(import.meta.url);

export const orm: typeof import("drizzle-orm") = load("drizzle-orm");
export const sqliteCore: typeof import("drizzle-orm/sqlite-core") = load(
	"drizzle-orm/sqlite-core",
);

/** What needs the native module of SQLite: loaded when that is known to be fit. */
export interface SqliteDriver {
	readonly drizzle: typeof import("drizzle-orm/better-sqlite3").drizzle;
	readonly migrate: typeof import("drizzle-orm/better-sqlite3/migrator").migrate;
}

/** @throws Error when the native module does not load here. */
export function loadDriver(): SqliteDriver {
	return {
		drizzle: load("drizzle-orm/better-sqlite3").drizzle,
		migrate: load("drizzle-orm/better-sqlite3/migrator").migrate,
	};
}
