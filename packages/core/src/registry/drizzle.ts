// What the ledger uses of Drizzle, where Node loads it: `#drizzle`.
//
// As CommonJS: for an ES module Node reads the package.json above it, each time anew,
// and that of Drizzle is 180 KB. By `import` it took six times as long. A bundler,
// which would not follow this `require`, takes bundled-drizzle.ts instead.
import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

const orm: typeof import("drizzle-orm") = load("drizzle-orm");
const core: typeof import("drizzle-orm/sqlite-core") = load(
	"drizzle-orm/sqlite-core",
);
// Not the driver, which loads the native module: this Node may not be fit for it.
const session: typeof import("drizzle-orm/better-sqlite3/session") = load(
	"drizzle-orm/better-sqlite3/session",
);

export const asc: typeof orm.asc = orm.asc;
export const count: typeof orm.count = orm.count;
export const desc: typeof orm.desc = orm.desc;
export const eq: typeof orm.eq = orm.eq;
export const getTableColumns: typeof orm.getTableColumns = orm.getTableColumns;
export const getTableName: typeof orm.getTableName = orm.getTableName;
export const lte: typeof orm.lte = orm.lte;
export const ne: typeof orm.ne = orm.ne;
export const sql: typeof orm.sql = orm.sql;

export const BaseSQLiteDatabase: typeof core.BaseSQLiteDatabase =
	core.BaseSQLiteDatabase;
export const integer: typeof core.integer = core.integer;
export const real: typeof core.real = core.real;
export const SQLiteSyncDialect: typeof core.SQLiteSyncDialect =
	core.SQLiteSyncDialect;
export const sqliteTable: typeof core.sqliteTable = core.sqliteTable;
export const text: typeof core.text = core.text;

export const BetterSQLiteSession: typeof session.BetterSQLiteSession =
	session.BetterSQLiteSession;
