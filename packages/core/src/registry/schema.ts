import type { RunResult } from "better-sqlite3";
import type { BaseSQLiteDatabase, SQLiteTable } from "drizzle-orm/sqlite-core";
import {
	asc,
	count,
	desc,
	eq,
	integer,
	ne,
	real,
	sqliteTable,
	text,
} from "#drizzle";
import type { ProcessIdentity } from "../identity.ts";
import type { RunId } from "../run-id.ts";
import type { RunState } from "../run-state.ts";
import { type Incident, parseIncident } from "./incident.ts";
import { prepareUpsert, type RowWriter } from "./prepared-upsert.ts";
import type {
	EndReason,
	Killer,
	RunRecord,
	WorkerEnd,
	WorkerRecord,
	WorkerStatus,
} from "./process-registry.ts";

/** A run as its file keeps it. */
export interface StoredRun extends RunRecord {
	/** Its private runtime directory. */
	readonly directory: string;
	/** Who cleans up after it at this moment, as in `endedBy`. */
	readonly claimedBy: string | undefined;
}

/** The tables of a run file, and the only statements on them. */
export type Ledger = BaseSQLiteDatabase<"sync", RunResult>;

const runTable = sqliteTable("runs", {
	runId: text("run_id").primaryKey(),
	state: text("state").$type<RunState>().notNull(),
	machineId: text("machine_id").notNull(),
	bootId: text("boot_id").notNull(),
	pidNamespace: text("pid_namespace").notNull(),
	pid: integer("pid").notNull(),
	startTime: text("start_time").notNull(),
	directory: text("directory").notNull(),
	startedAt: real("started_at").notNull(),
	endedAt: real("ended_at"),
	clean: integer("clean", { mode: "boolean" }),
	endedBy: text("ended_by"),
	claimedBy: text("claimed_by"),
	killed: integer("killed").notNull(),
	cleanupMs: real("cleanup_ms"),
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
});

const incidentTable = sqliteTable("incidents", {
	id: integer("id").primaryKey({ autoIncrement: true }),
	wallMs: real("wall_ms").notNull(),
	/** The event as JSON. */
	event: text("event").notNull(),
	reported: integer("reported", { mode: "boolean" }).notNull(),
});

/** For drizzle-kit, which makes the migrations from them. */
export const runs: SQLiteTable = runTable;
/** For drizzle-kit, which makes the migrations from them. */
export const workers: SQLiteTable = workerTable;
/** For drizzle-kit, which makes the migrations from them. */
export const incidents: SQLiteTable = incidentTable;

/** Writes the run's one row. */
export function writeRun(ledger: Ledger, run: StoredRun): void {
	const { owner, ...rest } = run;
	const row = { ...emptied(rest), ...owner };
	ledger
		.insert(runTable)
		.values(row)
		.onConflictDoUpdate({ target: runTable.runId, set: row })
		.run();
}

/** Reads the run's row; `undefined` when there is none. */
export function readRun(ledger: Ledger): StoredRun | undefined {
	const row = ledger.select().from(runTable).get();
	if (row === undefined) return undefined;
	const { machineId, bootId, pidNamespace, pid, startTime, ...rest } = row;
	return {
		...filled(rest),
		runId: row.runId as RunId,
		owner: { machineId, bootId, pidNamespace, pid, startTime },
	};
}

/** Writes one worker's row. */
export function writeWorker(
	ledger: Ledger,
	worker: WorkerRecord,
	ordinal: number,
	marker: string,
): void {
	const { end, ...rest } = worker;
	let writer = workerWriters.get(ledger);
	if (writer === undefined) {
		writer = prepareUpsert(ledger, workerTable, workerTable.incarnation);
		workerWriters.set(ledger, writer);
	}
	writer.run({
		...emptied(rest),
		identity: worker.identity ? JSON.stringify(worker.identity) : null,
		files: JSON.stringify(worker.files),
		ordinal,
		marker,
		exitCode: end?.exit?.kind === "code" ? end.exit.code : null,
		exitSignal: end?.exit?.kind === "signal" ? end.exit.signal : null,
		endReason: end?.reason ?? null,
		killer: end?.killer ?? null,
	} satisfies Record<keyof typeof workerTable.$inferSelect, unknown>);
}

const workerWriters = new WeakMap<Ledger, RowWriter>();

/** Records the end of a worker in a run that is not this process's own. */
export function endWorker(
	ledger: Ledger,
	incarnation: string,
	end: Pick<WorkerEnd, "reason" | "killer">,
	endedAt: number,
): void {
	ledger
		.update(workerTable)
		.set({
			status: "ended",
			endedAt,
			endReason: end.reason,
			killer: end.killer,
		})
		.where(eq(workerTable.incarnation, incarnation))
		.run();
}

/** Which workers of a run are wanted. */
export type WorkerSelection =
	| "all"
	/** Reserved or active. */
	| "living"
	| "none"
	/** So many of those that were reserved last. */
	| { readonly latest: number };

/** Reads workers, oldest first. */
export function readWorkers(
	ledger: Ledger,
	selection: WorkerSelection,
): readonly WorkerRecord[] {
	if (selection === "none") return [];
	const all = ledger.select().from(workerTable);
	if (typeof selection === "object")
		return all
			.orderBy(desc(workerTable.ordinal))
			.limit(selection.latest)
			.all()
			.reverse()
			.map(recordOf);
	const wanted =
		selection === "living" ? all.where(ne(workerTable.status, "ended")) : all;
	return wanted.orderBy(workerTable.ordinal).all().map(recordOf);
}

/** Reads one worker. */
export function readWorker(
	ledger: Ledger,
	incarnation: string,
): WorkerRecord | undefined {
	const row = ledger
		.select()
		.from(workerTable)
		.where(eq(workerTable.incarnation, incarnation))
		.get();
	return row && recordOf(row);
}

export function countWorkers(ledger: Ledger): number {
	const counted = ledger.select({ workers: count() }).from(workerTable).all();
	return counted.reduce((sum, { workers }) => sum + workers, 0);
}

function recordOf(row: typeof workerTable.$inferSelect): WorkerRecord {
	const {
		ordinal: _ordinal,
		marker: _marker,
		exitCode,
		exitSignal,
		endReason,
		killer,
		...rest
	} = row;
	return {
		...filled(rest),
		runId: row.runId as RunId,
		end: endOf(exitCode, exitSignal, endReason, killer),
	};
}

/** Adds what happened while no host lived. */
export function writeIncident(ledger: Ledger, incident: Incident): void {
	ledger
		.insert(incidentTable)
		.values({
			wallMs: incident.wallMs,
			event: JSON.stringify(incident),
			reported: false,
		})
		.run();
}

/** Reads the incidents of the run `ofRun`, or only those that nobody told yet, in the order in which they happened. */
export function readIncidents(
	ledger: Ledger,
	ofRun: RunId,
	selection: "all" | "unreported",
): readonly Incident[] {
	const all = ledger.select({ event: incidentTable.event }).from(incidentTable);
	const wanted =
		selection === "all" ? all : all.where(eq(incidentTable.reported, false));
	return wanted
		.orderBy(asc(incidentTable.wallMs), asc(incidentTable.id))
		.all()
		.flatMap(({ event }) => parseIncident(event, ofRun) ?? []);
}

/** Records that every incident was told. */
export function markReported(ledger: Ledger): void {
	ledger.update(incidentTable).set({ reported: true }).run();
}

function endOf(
	code: number | null,
	signal: NodeJS.Signals | null,
	reason: EndReason | null,
	killer: Killer | null,
): WorkerEnd | undefined {
	if (reason === null || killer === null) return undefined;
	const exit =
		code !== null
			? ({ kind: "code", code } as const)
			: signal !== null
				? ({ kind: "signal", signal } as const)
				: undefined;
	return { exit, reason, killer };
}

type Emptied<Row> = {
	[Name in keyof Row]: undefined extends Row[Name]
		? Exclude<Row[Name], undefined> | null
		: Row[Name];
};
type Filled<Row> = {
	[Name in keyof Row]: null extends Row[Name]
		? Exclude<Row[Name], null> | undefined
		: Row[Name];
};

/** SQL says NULL where we say undefined. */
function emptied<Row extends object>(row: Row): Emptied<Row> {
	const entries = Object.entries(row).map(([name, value]) => [
		name,
		value ?? null,
	]);
	return Object.fromEntries(entries) as Emptied<Row>;
}

function filled<Row extends object>(row: Row): Filled<Row> {
	const entries = Object.entries(row).map(([name, value]) => [
		name,
		value ?? undefined,
	]);
	return Object.fromEntries(entries) as Filled<Row>;
}
