// What the ledger uses of Drizzle, where a bundler reads it: `#drizzle` under the
// condition "module", which bundlers have and Node has not.
export {
	asc,
	count,
	desc,
	eq,
	getTableColumns,
	getTableName,
	lte,
	ne,
	sql,
} from "drizzle-orm";
export { BetterSQLiteSession } from "drizzle-orm/better-sqlite3/session";
export {
	BaseSQLiteDatabase,
	integer,
	real,
	SQLiteSyncDialect,
	sqliteTable,
	text,
} from "drizzle-orm/sqlite-core";
