import type { WorkerLocation } from "../contract/connection.ts";
import { SnakepitError, StartError } from "../contract/errors.ts";
import type { ProcessIdentity, RunId } from "../contract/identity.ts";
import type {
	EndReason,
	HasLifeline,
	Killer,
	RecordedError,
	Reservation,
	WorkerEnd,
	WorkerRecord,
	WorkerStatus,
} from "../contract/process-registry.ts";
import type { HostIncident } from "./incidents.ts";

/** So many of the workers that ended last stay in memory; those before them are in the file alone. */
export const ENDED_KEPT = 200;

/** A row and its place in the order of reservations. */
export interface WorkerRow {
	readonly worker: WorkerRecord;
	readonly ordinal: number;
}

/**
 * The workers of a run that are kept in memory: all that live, all that are not
 * written yet, and a bounded number of those that ended.
 */
export class WorkerRows {
	/** By incarnation, in the order of reservations. */
	readonly #rows = new Map<string, WorkerRow>();
	/** In the order of their ends. */
	readonly #ended = new Set<string>();
	readonly #unwritten = new Map<string, WorkerRow>();
	#ordinals = 0;
	#forgotten = 0;

	/** How many are in the file alone. */
	get forgotten(): number {
		return this.#forgotten;
	}

	/** How many are not written yet. */
	get unwrittenCount(): number {
		return this.#unwritten.size;
	}

	get(incarnation: string): WorkerRecord | undefined {
		return this.#rows.get(incarnation)?.worker;
	}

	/** Oldest first. */
	kept(): readonly WorkerRecord[] {
		return [...this.#rows.values()].map(({ worker }) => worker);
	}

	/** All of the file, with those in memory in their place: these are newer, and may not be written yet. */
	over(written: readonly WorkerRecord[]): readonly WorkerRecord[] {
		const all = new Map(written.map((row) => [row.incarnation, row]));
		for (const row of this.kept()) all.set(row.incarnation, row);
		return [...all.values()];
	}

	/** Adds a row or replaces it; it is unwritten then. */
	put(worker: WorkerRecord): void {
		const { incarnation, status } = worker;
		const ordinal = this.#rows.get(incarnation)?.ordinal ?? this.#ordinals++;
		const row = { worker, ordinal };
		this.#rows.set(incarnation, row);
		this.#unwritten.set(incarnation, row);
		if (status === "ended") this.#ended.add(incarnation);
	}

	/** Takes a row back that was never written. */
	remove(incarnation: string): void {
		this.#rows.delete(incarnation);
		this.#unwritten.delete(incarnation);
	}

	unwritten(): readonly WorkerRow[] {
		return [...this.#unwritten.values()];
	}

	/** The file has lost everything: what is in memory has to be written again. */
	rewrite(): void {
		for (const [incarnation, row] of this.#rows)
			this.#unwritten.set(incarnation, row);
	}

	isUnwritten(incarnation: string): boolean {
		return this.#unwritten.has(incarnation);
	}

	/** Everything is in the file now: what ended long ago is forgotten. */
	written(): void {
		this.#unwritten.clear();
		for (const incarnation of this.#ended) {
			if (this.#ended.size <= ENDED_KEPT) return;
			this.#ended.delete(incarnation);
			this.#rows.delete(incarnation);
			this.#forgotten++;
		}
	}

	/** Of all workers, those in the file alone included. */
	count(status: WorkerStatus): number {
		const kept = this.kept().filter((row) => row.status === status).length;
		return status === "ended" ? kept + this.#forgotten : kept;
	}
}

// How the record of a worker changes from its reservation to its end. Each throws
// SnakepitError `IMPOSSIBLE_TRANSITION` for a step that does not follow.

/** @param known the record that has this incarnation already. */
export function reserved(
	known: WorkerRecord | undefined,
	reservation: Reservation,
	runId: RunId,
	reservedAt: number,
): WorkerRecord {
	if (known !== undefined)
		throw impossible(reservation.incarnation, "is reserved already");
	return {
		...reservation,
		runId,
		status: "reserved",
		identity: undefined,
		groupId: undefined,
		lifeline: undefined,
		location: undefined,
		startError: undefined,
		reservedAt,
		activatedAt: undefined,
		endedAt: undefined,
		end: undefined,
	};
}

export function activated(
	row: WorkerRecord | undefined,
	incarnation: string,
	identity: ProcessIdentity,
	groupId: number,
	lifeline: HasLifeline,
	activatedAt: number,
): WorkerRecord {
	if (row?.status !== "reserved")
		throw impossible(
			incarnation,
			`is ${row?.status ?? "unknown"}, not reserved`,
		);
	return { ...row, status: "active", identity, groupId, lifeline, activatedAt };
}

export function located(
	row: WorkerRecord | undefined,
	incarnation: string,
	location: WorkerLocation,
): WorkerRecord {
	if (row === undefined) throw impossible(incarnation, "is unknown");
	return { ...row, location };
}

/**
 * One that could not be started. Where nothing was reserved, it failed before there was anything to record.
 *
 * @param at for such a one: when it was to start, and did not.
 */
export function startFailed(
	row: WorkerRecord | undefined,
	worker: Pick<Reservation, "incarnation" | "workerId" | "pool">,
	runId: RunId,
	startError: RecordedError,
	at: number,
): WorkerRecord {
	if (row !== undefined) return { ...row, startError };
	const { incarnation, workerId, pool } = worker;
	const reservation = { incarnation, workerId, pool, fingerprint: "" };
	return {
		...reserved(undefined, { ...reservation, files: [] }, runId, at),
		...{ status: "ended", endedAt: at, startError },
		end: { exit: undefined, reason: "start_failed", killer: "none" },
	};
}

/** Returns `undefined` where the end is recorded already. */
export function ended(
	row: WorkerRecord | undefined,
	incarnation: string,
	end: WorkerEnd,
	endedAt: number,
): WorkerRecord | undefined {
	if (row === undefined) throw impossible(incarnation, "is unknown");
	return row.status === "ended"
		? undefined
		: { ...row, status: "ended", endedAt, end };
}

/** The end without what the worker printed and was asked. */
export function withoutContent({ exit, reason, killer }: WorkerEnd): WorkerEnd {
	return { exit, reason, killer };
}

/** Whether the ledger may contain what users' code printed, said and was called with. */
type Content = "recorded" | "left_out";

/** An error; its message may have what a call was given. */
export function errorWith<Recorded extends RecordedError>(
	content: Content,
	error: Recorded,
): Recorded {
	return content === "recorded" ? error : { ...error, message: undefined };
}

export function incidentWith(
	content: Content,
	incident: HostIncident,
): HostIncident {
	return incident.type === "pool.start_failed" ||
		incident.type === "run.open_failed"
		? { ...incident, error: errorWith(content, incident.error) }
		: incident;
}

/** Why a process is not recorded any more: nothing would clean up after it, so it must not run. */
export function runOver(incarnation: string): StartError {
	return new StartError({
		code: "RUN_CLOSED",
		message: `Worker ${incarnation} was not started: its run is closed.`,
	});
}

function impossible(incarnation: string, what: string): SnakepitError {
	return new SnakepitError({
		code: "IMPOSSIBLE_TRANSITION",
		ran: "no",
		message: `Worker ${incarnation} ${what}. This is a defect in Snakepit: please report it.`,
	});
}

/** What stands beside the workers of a pool, by the end of its name in the ledger. */
export const BESIDE_WORKERS = ["preload", "companion"] as const;

/** Whether a row is a worker or a job, and not the preloaded parent or the companion of a pool. */
export function isWorker({
	pool,
	workerId,
}: Pick<Reservation, "pool" | "workerId">): boolean {
	return !BESIDE_WORKERS.some((kind) => workerId === `${pool}-${kind}`);
}

/** How the end of a worker is kept; all null while it lives. */
export interface EndColumns {
	readonly exitCode: number | null;
	readonly exitSignal: NodeJS.Signals | null;
	readonly endReason: EndReason | null;
	readonly killer: Killer | null;
	readonly tail: readonly string[] | null;
	readonly lastCommand: string | null;
	readonly endDetail: string | null;
}

export function columnsOfEnd(end: WorkerEnd | undefined): EndColumns {
	const exit = end?.exit;
	return {
		exitCode: exit?.kind === "code" ? exit.code : null,
		exitSignal: exit?.kind === "signal" ? exit.signal : null,
		endReason: end?.reason ?? null,
		killer: end?.killer ?? null,
		tail: end?.tail ?? null,
		lastCommand: end?.lastCommand ?? null,
		endDetail: end?.detail ?? null,
	};
}

export function endOf(columns: EndColumns): WorkerEnd | undefined {
	const { exitCode, exitSignal, endReason, killer } = columns;
	const { tail, lastCommand, endDetail } = columns;
	if (endReason === null || killer === null) return undefined;
	const exit =
		exitCode !== null
			? ({ kind: "code", code: exitCode } as const)
			: exitSignal !== null
				? ({ kind: "signal", signal: exitSignal } as const)
				: undefined;
	return {
		...{ exit, reason: endReason, killer },
		tail: tail ?? undefined,
		lastCommand: lastCommand ?? undefined,
		detail: endDetail ?? undefined,
	};
}

/** A row with NULL where code has `undefined`. */
type WithNull<Row> = {
	[Name in keyof Row]: undefined extends Row[Name]
		? Exclude<Row[Name], undefined> | null
		: Row[Name];
};

/** A row with `undefined` where SQL has NULL. */
type WithUndefined<Row> = {
	[Name in keyof Row]: null extends Row[Name]
		? Exclude<Row[Name], null> | undefined
		: Row[Name];
};

export function undefinedToNull<Row extends object>(row: Row): WithNull<Row> {
	return mapValues(row, (value) => value ?? null) as WithNull<Row>;
}

export function nullToUndefined<Row extends object>(
	row: Row,
): WithUndefined<Row> {
	return mapValues(row, (value) => value ?? undefined) as WithUndefined<Row>;
}

function mapValues(row: object, map: (value: unknown) => unknown): object {
	return Object.fromEntries(
		Object.entries(row).map(([name, value]) => [name, map(value)]),
	);
}
