import type { RunResult } from "better-sqlite3";
import type {
	BaseSQLiteDatabase,
	SQLiteColumn,
	SQLiteTable,
} from "drizzle-orm/sqlite-core";
import { getTableColumns, sql } from "#drizzle";

/** Writes one row; its values by the names of the columns in code, as SQLite keeps them. */
export interface RowWriter {
	run(values: Record<string, unknown>): unknown;
}

/**
 * Prepares the statement that adds a row, or replaces the one with the same key:
 * to make a statement takes longer than to run it.
 */
export function prepareUpsert(
	ledger: BaseSQLiteDatabase<"sync", RunResult>,
	table: SQLiteTable,
	key: SQLiteColumn,
): RowWriter {
	const columns = Object.entries(getTableColumns(table));
	// As SQL: a bare placeholder of a JSON column would write the text "null" for null.
	const values = columns.map(([name]) => [name, sql`${sql.placeholder(name)}`]);
	const set = columns.map(([name, column]) => [
		name,
		sql`excluded.${sql.identifier(column.name)}`,
	]);
	return ledger
		.insert(table)
		.values(Object.fromEntries(values))
		.onConflictDoUpdate({ target: key, set: Object.fromEntries(set) })
		.prepare();
}
