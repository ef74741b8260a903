import type BetterSqlite3 from "better-sqlite3";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import {
	BaseSQLiteDatabase,
	BetterSQLiteSession,
	count,
	desc,
	eq,
	getTableColumns,
	getTableName,
	integer,
	ne,
	real,
	SQLiteSyncDialect,
	sql,
	sqliteTable,
	text,
} from "#drizzle";
import type { WorkerLocation } from "../contract/connection.ts";
import type { ProcessIdentity, RunId } from "../contract/identity.ts";
import type {
	EndReason,
	HasLifeline,
	HostProgram,
	Killer,
	ProgramEnd,
	RecordedError,
	RunRecord,
	WorkerEnd,
	WorkerRecord,
	WorkerStatus,
} from "../contract/process-registry.ts";
import type { RunState } from "../contract/run-and-worker-states.ts";
import { FailedCallRows } from "./failed-call-rows.ts";
import { MIGRATIONS } from "./gen/migrations.ts";
import { ActRows, IncidentRows, type LedgerDatabase } from "./incident-rows.ts";
import {
	BESIDE_WORKERS,
	columnsOfEnd,
	endOf,
	nullToUndefined,
	undefinedToNull,
} from "./workers.ts";

const runTable = sqliteTable("runs", {
	runId: text("run_id").primaryKey(),
	state: text("state").$type<RunState>().notNull(),
	machineId: text("machine_id").notNull(),
	bootId: text("boot_id").notNull(),
	pidNamespace: text("pid_namespace").notNull(),
	pid: integer("pid").notNull(),
	startTime: text("start_time").notNull(),
	directory: text("directory").notNull(),
	program: text("program", { mode: "json" }).$type<HostProgram>(),
	startedAt: real("started_at").notNull(),
	endedAt: real("ended_at"),
	clean: integer("clean", { mode: "boolean" }),
	endedBy: text("ended_by"),
	claimedBy: text("claimed_by"),
	killed: integer("killed").notNull(),
	cleanupMs: real("cleanup_ms"),
	programEnd: text("program_end", { mode: "json" }).$type<ProgramEnd>(),
});

const workerTable = sqliteTable("workers", {
	incarnation: text("incarnation").primaryKey(),
	/** Rows are listed in the order of their reservation. */
	ordinal: integer("ordinal").notNull(),
	runId: text("run_id").notNull(),
	workerId: text("worker_id").notNull(),
	pool: text("pool").notNull(),
	status: text("status").$type<WorkerStatus>().notNull(),
	identity: text("identity", { mode: "json" }).$type<ProcessIdentity>(),
	groupId: integer("group_id"),
	lifeline: text("lifeline").$type<HasLifeline>(),
	/** The value of the marker variable in its environment. */
	marker: text("marker").notNull(),
	fingerprint: text("fingerprint").notNull(),
	files: text("files", { mode: "json" }).$type<readonly string[]>().notNull(),
	reservedAt: real("reserved_at").notNull(),
	activatedAt: real("activated_at"),
	endedAt: real("ended_at"),
	exitCode: integer("exit_code"),
	exitSignal: text("exit_signal").$type<NodeJS.Signals>(),
	endReason: text("end_reason").$type<EndReason>(),
	killer: text("killer").$type<Killer>(),
	tail: text("tail", { mode: "json" }).$type<readonly string[]>(),
	lastCommand: text("last_command"),
	location: text("location", { mode: "json" }).$type<WorkerLocation>(),
	startError: text("start_error", { mode: "json" }).$type<RecordedError>(),
	endDetail: text("end_detail"),
});

/** For drizzle-kit, which generates the migrations from them. */
export const runs: SQLiteTable = runTable;
/** For drizzle-kit, which generates the migrations from them. */
export const workers: SQLiteTable = workerTable;
/** A run as its file keeps it. */
export interface StoredRun extends RunRecord {
	/** Its private runtime directory. */
	readonly directory: string;
	/** Who is cleaning up after it at the moment, as in `endedBy`. */
	readonly claimedBy: string | undefined;
}

/** Which workers of a run to read. */
export type WorkerSelection =
	| "all"
	/** Reserved or active. */
	| "living"
	| "none"
	/** This many of those that were reserved last. */
	| { readonly latest: number };

/**
 * The tables of a run file, and the only statements on them.
 *
 * This module loads Drizzle, which takes longer than the rest of the package:
 * import its types only, and get a ledger from `loadSqlite`.
 */
export class Ledger {
	/** Brings the tables up to date. */
	readonly migrate: () => void;
	/** What went wrong in the run, and what protections did. */
	readonly incidents: IncidentRows;
	/** Who asked for what. */
	readonly acts: ActRows;
	/** Calls that failed in the run. */
	readonly failedCalls: FailedCallRows;
	readonly #database: LedgerDatabase;
	readonly #client: BetterSqlite3.Database;
	#runRow: BetterSqlite3.Statement | undefined;
	#workerRow: BetterSqlite3.Statement | undefined;

	/** Does what Drizzle's own driver does, which would load the native module by itself. */
	constructor(client: BetterSqlite3.Database) {
		this.#client = client;
		const dialect = new SQLiteSyncDialect();
		const session = new BetterSQLiteSession(client, dialect, undefined);
		this.#database = new BaseSQLiteDatabase(
			"sync",
			dialect,
			session,
			undefined,
		);
		this.incidents = new IncidentRows(this.#database);
		this.acts = new ActRows(this.#database, client);
		this.failedCalls = new FailedCallRows(this.#database, client);
		this.migrate = () => dialect.migrate([...MIGRATIONS], session);
	}

	/** Writes the run's only row. */
	writeRun({ owner, program, clean, programEnd, ...run }: StoredRun): void {
		this.#runRow ??= rowOf(this.#client, runTable);
		this.#runRow.run({
			...undefinedToNull(run),
			...owner,
			program: program ? JSON.stringify(program) : null,
			programEnd: programEnd ? JSON.stringify(programEnd) : null,
			clean: clean === undefined ? null : Number(clean),
		} satisfies Row<typeof runTable>);
	}

	/** Reads the run's row; `undefined` when there is none. */
	run(): StoredRun | undefined {
		const row = this.#database.select().from(runTable).get();
		if (row === undefined) return undefined;
		const { machineId, bootId, pidNamespace, pid, startTime, ...run } = row;
		return {
			...nullToUndefined(run),
			runId: row.runId as RunId,
			owner: { machineId, bootId, pidNamespace, pid, startTime },
		};
	}

	/** Writes one worker's row. */
	writeWorker(worker: WorkerRecord, ordinal: number, marker: string): void {
		const { end, identity, location, files, startError, ...rest } = worker;
		const { tail, ...columns } = columnsOfEnd(end);
		this.#workerRow ??= rowOf(this.#client, workerTable);
		this.#workerRow.run({
			...undefinedToNull(rest),
			identity: identity ? JSON.stringify(identity) : null,
			location: location ? JSON.stringify(location) : null,
			startError: startError ? JSON.stringify(startError) : null,
			files: JSON.stringify(files),
			ordinal,
			marker,
			...columns,
			tail: tail && JSON.stringify(tail),
		} satisfies Row<typeof workerTable>);
	}

	/** Records the end of a worker in a run that is not this process's own. */
	endWorker(
		incarnation: string,
		{ reason, killer }: Pick<WorkerEnd, "reason" | "killer">,
		endedAt: number,
	): void {
		this.#database
			.update(workerTable)
			.set({ status: "ended", endedAt, endReason: reason, killer })
			.where(eq(workerTable.incarnation, incarnation))
			.run();
	}

	/** Records how the program of the run ended. */
	endProgram(programEnd: ProgramEnd): void {
		// The program ends in this very turn: it does not wait for Drizzle, which makes its text from a tree of objects.
		this.#client
			.prepare("update runs set program_end = ?")
			.run(JSON.stringify(programEnd));
	}

	/** Reads workers, oldest first. */
	workers(selection: WorkerSelection): readonly WorkerRecord[] {
		if (selection === "none") return [];
		const all = this.#database.select().from(workerTable);
		if (typeof selection === "object")
			return all
				.orderBy(desc(workerTable.ordinal))
				.limit(selection.latest)
				.all()
				.reverse()
				.map(workerOf);
		const wanted =
			selection === "living" ? all.where(ne(workerTable.status, "ended")) : all;
		return wanted.orderBy(workerTable.ordinal).all().map(workerOf);
	}

	worker(incarnation: string): WorkerRecord | undefined {
		const row = this.#database
			.select()
			.from(workerTable)
			.where(eq(workerTable.incarnation, incarnation))
			.get();
		return row && workerOf(row);
	}

	/** As `isWorker` tells them from others. */
	countWorkers(): number {
		const { pool, workerId } = workerTable;
		const [one, other] = BESIDE_WORKERS;
		return this.#database
			.select({ workers: count() })
			.from(workerTable)
			.where(
				sql`${workerId} not in (${pool} || ${`-${one}`}, ${pool} || ${`-${other}`})`,
			)
			.all()
			.reduce((sum, { workers }) => sum + workers, 0);
	}
}

/** A row by the names of its columns in code, its values as SQLite keeps them. */
type Row<Table extends typeof runTable | typeof workerTable> = Record<
	keyof Table["$inferSelect"],
	string | number | null
>;

/**
 * The statement that writes a whole row, in the place of the one with the same key. A program waits for it before its
 * first worker: Drizzle would make its text from a tree of objects, which takes many times as long.
 */
function rowOf(
	client: BetterSqlite3.Database,
	table: typeof runTable | typeof workerTable,
): BetterSqlite3.Statement {
	const columns = Object.entries(getTableColumns(table));
	const names = columns.map(([, { name }]) => `"${name}"`);
	const values = columns.map(([name]) => `:${name}`);
	return client.prepare(
		`insert or replace into "${getTableName(table)}" (${names}) values (${values})`,
	);
}

function workerOf({
	ordinal: _ordinal,
	marker: _marker,
	exitCode,
	exitSignal,
	endReason,
	killer,
	tail,
	lastCommand,
	endDetail,
	...row
}: typeof workerTable.$inferSelect): WorkerRecord {
	return {
		...nullToUndefined(row),
		runId: row.runId as RunId,
		end: endOf({
			...{ exitCode, exitSignal, endReason, killer },
			...{ tail, lastCommand, endDetail },
		}),
	};
}
