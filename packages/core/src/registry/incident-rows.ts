import type BetterSqlite3 from "better-sqlite3";
import type {
	SQLiteTable,
	BaseSQLiteDatabase as Statements,
} from "drizzle-orm/sqlite-core";
import { asc, eq, integer, lte, real, sqliteTable, text } from "#drizzle";
import type { RunId } from "../contract/identity.ts";
import {
	ACTS_LIMIT,
	type Act,
	type HostIncident,
	type Incident,
	parseAct,
	parseHostIncident,
	parseIncident,
} from "./incidents.ts";

export type LedgerDatabase = Statements<
	"sync",
	BetterSqlite3.RunResult,
	Record<string, unknown>
>;

const incidentTable = sqliteTable("incidents", {
	id: integer("id").primaryKey({ autoIncrement: true }),
	wallMs: real("wall_ms").notNull(),
	/** The event as JSON. */
	event: text("event").notNull(),
	reported: integer("reported", { mode: "boolean" }).notNull(),
});

/** For drizzle-kit, which generates the migrations from it. */
export const incidents: SQLiteTable = incidentTable;

const actTable = sqliteTable("acts", {
	id: integer("id").primaryKey({ autoIncrement: true }),
	wallMs: real("wall_ms").notNull(),
	/** The event as JSON. */
	event: text("event").notNull(),
});

/** For drizzle-kit, which generates the migrations from it. */
export const acts: SQLiteTable = actTable;

/** The incidents of a run file. As the ledger, it loads Drizzle: import its type only. */
export class IncidentRows {
	readonly #database: LedgerDatabase;

	constructor(database: LedgerDatabase) {
		this.#database = database;
	}

	/**
	 * Adds what went wrong while the host lived, or what happened after its death.
	 *
	 * @param reported whether the host reported it itself; otherwise the next start does.
	 */
	write(incident: Incident | HostIncident, reported: boolean): void {
		const { wallMs } = incident;
		const event = JSON.stringify(incident);
		this.#database
			.insert(incidentTable)
			.values({ wallMs, event, reported })
			.run();
	}

	/** Reads everything that went wrong in the run `ofRun`, in the order in which it happened. */
	every(ofRun: RunId): readonly (Incident | HostIncident)[] {
		return this.#events("all").flatMap(
			(event) => parseIncident(event, ofRun) ?? parseHostIncident(event) ?? [],
		);
	}

	/** Reads what protections wrote of the run `ofRun`, in the order in which it happened. */
	ofProtections(
		ofRun: RunId,
		selection: "all" | "unreported",
	): readonly Incident[] {
		return this.#events(selection).flatMap(
			(event) => parseIncident(event, ofRun) ?? [],
		);
	}

	#events(selection: "all" | "unreported"): readonly string[] {
		const all = this.#database.select().from(incidentTable);
		const wanted =
			selection === "all" ? all : all.where(eq(incidentTable.reported, false));
		return wanted
			.orderBy(asc(incidentTable.wallMs), asc(incidentTable.id))
			.all()
			.map(({ event }) => event);
	}

	/** Records that every incident was reported. */
	markReported(): void {
		this.#database.update(incidentTable).set({ reported: true }).run();
	}
}

/** What was asked of the pools of a run, and by whom. As the ledger, it loads Drizzle: import its type only. */
export class ActRows {
	readonly #database: LedgerDatabase;
	readonly #client: BetterSqlite3.Database;
	#insert: BetterSqlite3.Statement | undefined;

	constructor(database: LedgerDatabase, client: BetterSqlite3.Database) {
		this.#database = database;
		this.#client = client;
	}

	/** Adds one; the oldest beyond the limit go. */
	write(act: Act): void {
		// The close of every pool is one: it does not wait for Drizzle to make this text.
		this.#insert ??= this.#client.prepare(
			"insert into acts (wall_ms, event) values (?, ?)",
		);
		const { lastInsertRowid } = this.#insert.run(
			act.wallMs,
			JSON.stringify(act),
		);
		const oldest = Number(lastInsertRowid) - ACTS_LIMIT;
		if (oldest <= 0) return;
		this.#database.delete(actTable).where(lte(actTable.id, oldest)).run();
	}

	/** In the order in which they happened. */
	every(): readonly Act[] {
		return this.#database
			.select()
			.from(actTable)
			.orderBy(asc(actTable.id))
			.all()
			.flatMap(({ event }) => parseAct(event) ?? []);
	}
}
