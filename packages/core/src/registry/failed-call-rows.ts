import type BetterSqlite3 from "better-sqlite3";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { desc, integer, real, sqliteTable, text } from "#drizzle";
import {
	type FailedCall,
	type FailedCallChanges,
	parseFailedCall,
} from "./failed-calls.ts";
import type { LedgerDatabase } from "./incident-rows.ts";

const failedCallTable = sqliteTable("failed_calls", {
	/** Given by the host, in the order in which they failed. */
	id: integer("id").primaryKey(),
	wallMs: real("wall_ms").notNull(),
	/** The call as JSON. */
	call: text("call").notNull(),
	alike: integer("alike").notNull(),
});

/** For drizzle-kit, which generates the migrations from it. */
export const failedCalls: SQLiteTable = failedCallTable;

/** The failed calls of a run file. As the ledger, it loads Drizzle: import its type only. */
export class FailedCallRows {
	readonly #database: LedgerDatabase;
	readonly #client: BetterSqlite3.Database;
	#insert: BetterSqlite3.Statement | undefined;
	#delete: BetterSqlite3.Statement | undefined;

	constructor(database: LedgerDatabase, client: BetterSqlite3.Database) {
		this.#database = database;
		this.#client = client;
	}

	/** A hundred rows may be written at once: Drizzle would make the text of each statement anew. */
	write({ rows, removed }: FailedCallChanges): void {
		if (rows.length > 0)
			this.#insert ??= this.#client.prepare(
				"insert or replace into failed_calls (id, wall_ms, call, alike) values (:id, :wallMs, :text, :alike)",
			);
		for (const row of rows) this.#insert?.run(row);
		if (removed.length > 0)
			this.#delete ??= this.#client.prepare(
				"delete from failed_calls where id = ?",
			);
		for (const id of removed) this.#delete?.run(id);
	}

	/** Reads those that failed last, oldest first. */
	latest(count: number): readonly FailedCall[] {
		if (count === 0) return [];
		return this.#database
			.select()
			.from(failedCallTable)
			.orderBy(desc(failedCallTable.id))
			.limit(count)
			.all()
			.reverse()
			.flatMap(({ call, alike }) => parseFailedCall(call, alike) ?? []);
	}
}
