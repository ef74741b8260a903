import type BetterSqlite3 from "better-sqlite3";
import type {
	SQLiteTable,
	BaseSQLiteDatabase as Statements,
} from "drizzle-orm/sqlite-core";
import { asc, eq, integer, real, sqliteTable, text } from "#drizzle";
import type { RunId } from "../contract/identity.ts";
import {
	type HostIncident,
	type Incident,
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
