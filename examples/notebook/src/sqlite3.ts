import type { Handle } from "@snakepit/adapter-python";

/** As much of Python's module `sqlite3` as the notebook uses. */
export interface Sqlite3 {
	connect(path: string): Handle<Connection>;
	readonly sqlite_version: string;
}

export interface Connection {
	execute(sql: string, parameters?: readonly unknown[]): Handle<Cursor>;
	executemany(
		sql: string,
		rows: readonly (readonly unknown[])[],
	): Handle<Cursor>;
	close(): null;
	readonly total_changes: number;
}

export interface Cursor
	extends Iterable<readonly [hour: number, load: number]> {
	fetchone(): readonly unknown[] | null;
}
