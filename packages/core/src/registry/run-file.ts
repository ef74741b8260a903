import { closeSync, openSync } from "node:fs";
import type { RunId } from "../run-id.ts";
import { MIGRATIONS } from "./gen/migrations.ts";
import type { Incident } from "./incident.ts";
import { ledgerFailure, systemCodeOf } from "./ledger-failure.ts";
import type { WorkerEnd, WorkerRecord } from "./process-registry.ts";
import { ownerKey, type RunName } from "./run-name.ts";
import {
	countWorkers,
	endWorker,
	type Ledger,
	markReported,
	readIncidents,
	readRun,
	readWorker,
	readWorkers,
	type StoredRun,
	type WorkerSelection,
	writeIncident,
	writeRun,
	writeWorker,
} from "./schema.ts";
import { type Sqlite, type SqliteConnection, shareFile } from "./sqlite.ts";

/** "snkp": says that a SQLite file is a run of ours. Source: sqlite.org/pragma.html#pragma_application_id. */
const APPLICATION_ID = 0x736e6b70;
/** How many migrations there are. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;
/** Nobody else writes a run file: who locks it is a stranger, and the event loop does not wait for strangers. */
const BUSY_TIMEOUT_MS = 25;
/** A reader waits for the commit of a living owner, which may wait for its disk. */
const READ_TIMEOUT_MS = 100;

/** What a run file holds, or why it cannot be used. */
export type RunContent =
	| {
			readonly kind: "readable";
			readonly run: StoredRun;
			/** Those that were asked for, oldest first. */
			readonly workers: readonly WorkerRecord[];
			/** How many there are in all. */
			readonly workerCount: number;
			/** What happened while no host lived, in the order in which it did. */
			readonly incidents: readonly Incident[];
	  }
	/** Damaged, foreign or newer: of no use to anyone. */
	| { readonly kind: "unusable"; readonly reason: string }
	/** Locked or forbidden: perhaps not for ever. */
	| { readonly kind: "unreadable"; readonly reason: string };

/** What a commit outlives from the moment on in which it returns. */
export type Outlives =
	/** It is with the kernel. What ends the machine ends the workers, too; it may take the whole file with it. */
	| "host"
	/** It is on the disk, with everything before it. */
	| "power_loss";

const SYNCHRONOUS: Readonly<Record<Outlives, string>> = {
	host: "OFF",
	power_loss: "FULL",
};

/** The database of one run, open for writing by its owner or by who cleans up after it. */
export class RunFile {
	readonly path: string;
	readonly #connection: SqliteConnection;
	#outlives: Outlives | undefined;

	private constructor(path: string, connection: SqliteConnection) {
		this.path = path;
		this.#connection = connection;
	}

	/**
	 * Makes the file of a new run, with its row.
	 *
	 * @throws RegistryError when it cannot be written.
	 */
	static create(sqlite: Sqlite, path: string, run: StoredRun): RunFile {
		let file: RunFile | undefined;
		try {
			closeSync(openSync(path, "wx", 0o600));
			const connection = connect(sqlite, path);
			file = new RunFile(path, connection);
			shareFile(connection);
			connection.client.pragma(`application_id = ${APPLICATION_ID}`);
			upgrade(sqlite, connection);
			file.write([], "", run);
			return file;
		} catch (error) {
			file?.close("goes_on");
			throw ledgerFailure(error, path);
		}
	}

	/** Opens a file that was read before, and brings one of an older version up to date. Throws what SQLite throws. */
	static open(sqlite: Sqlite, path: string): RunFile {
		const connection = connect(sqlite, path);
		try {
			shareFile(connection);
			if (versionOf(connection) < SCHEMA_VERSION) upgrade(sqlite, connection);
			return new RunFile(path, connection);
		} catch (error) {
			connection.client.close();
			throw error;
		}
	}

	/**
	 * One commit: worker rows with their ordinals, and the run's row if given.
	 *
	 * Rows of workers alone are not waited for until they are on the disk: who
	 * reads them looks for processes, and a machine without power has none.
	 */
	write(
		rows: readonly {
			readonly worker: WorkerRecord;
			readonly ordinal: number;
		}[],
		marker: string,
		run: StoredRun | undefined,
		outlives: Outlives = run === undefined ? "host" : "power_loss",
	): void {
		this.#commit((ledger) => {
			for (const { worker, ordinal } of rows)
				writeWorker(ledger, worker, ordinal, marker);
			if (run !== undefined) writeRun(ledger, run);
		}, outlives);
	}

	/** One commit: how workers of a dead run ended, the run's row, and what happened while no host lived. */
	writeEnds(
		ends: readonly {
			readonly incarnation: string;
			readonly end: Pick<WorkerEnd, "reason" | "killer">;
		}[],
		endedAt: number,
		run: StoredRun,
		incidents: readonly Incident[] = [],
	): void {
		this.#commit((ledger) => {
			for (const { incarnation, end } of ends)
				endWorker(ledger, incarnation, end, endedAt);
			for (const incident of incidents) writeIncident(ledger, incident);
			writeRun(ledger, run);
		});
	}

	/** One commit: what happened while no host lived. */
	writeIncidents(incidents: readonly Incident[]): void {
		this.#commit((ledger) => {
			for (const incident of incidents) writeIncident(ledger, incident);
		});
	}

	/** Every worker that is written, oldest first. */
	workers(): readonly WorkerRecord[] {
		return readWorkers(this.#connection.ledger, "all");
	}

	worker(incarnation: string): WorkerRecord | undefined {
		return readWorker(this.#connection.ledger, incarnation);
	}

	/** Every incident of the run `ofRun`, in the order in which they happened. */
	incidents(ofRun: RunId): readonly Incident[] {
		return readIncidents(this.#connection.ledger, ofRun, "all");
	}

	/** The incidents of the run `ofRun` that nobody told yet, in the order in which they happened. */
	unreported(ofRun: RunId): readonly Incident[] {
		return readIncidents(this.#connection.ledger, ofRun, "unreported");
	}

	/** One commit: every incident was told. */
	markReported(): void {
		this.#commit(markReported);
	}

	#commit(
		changes: (ledger: Ledger) => void,
		outlives: Outlives = "power_loss",
	): void {
		const { client, ledger } = this.#connection;
		if (this.#outlives !== outlives) {
			client.pragma(`synchronous = ${SYNCHRONOUS[outlives]}`);
			this.#outlives = outlives;
		}
		client.transaction(() => changes(ledger)).immediate();
	}

	/** Closes it, as safely as it was written to last. A run that is over becomes one plain file, which can be read also where nothing can be written. */
	close(life: "goes_on" | "is_over"): void {
		const { client } = this.#connection;
		try {
			if (life === "is_over") client.pragma("journal_mode = DELETE");
		} catch {
			// Somebody has it locked: the second file stays.
		}
		client.close();
	}
}

function connect(sqlite: Sqlite, path: string): SqliteConnection {
	const connection = sqlite.open(path, {
		readonly: false,
		busyTimeoutMs: BUSY_TIMEOUT_MS,
	});
	connection.client.pragma(`synchronous = ${SYNCHRONOUS.power_loss}`);
	return connection;
}

/** Whoever is killed in between leaves tables of which the next one finds nothing to do. */
function upgrade(sqlite: Sqlite, connection: SqliteConnection): void {
	sqlite.migrate(connection);
	connection.client.pragma(`user_version = ${SCHEMA_VERSION}`);
}

function versionOf({ client }: SqliteConnection): number {
	return Number(client.pragma("user_version", { simple: true }));
}

/**
 * Reads a run file, also one of an older version; never throws. It changes
 * nothing but what a writer that was killed in the middle of a commit has left
 * half done: that is taken back first.
 */
export function readRunFile(
	sqlite: Sqlite,
	path: string,
	name: RunName,
	selection: WorkerSelection = "all",
): RunContent {
	let connection: SqliteConnection | undefined;
	try {
		connection = openToRead(sqlite, path);
		const reason = reasonNotToRead(connection);
		if (reason !== undefined) return { kind: "unusable", reason };
		if (versionOf(connection) === SCHEMA_VERSION)
			return contentOf(connection, name, selection);
		const copy = sqlite.copy(connection);
		try {
			sqlite.migrate(copy);
			return contentOf(copy, name, selection);
		} finally {
			copy.client.close();
		}
	} catch (error) {
		const { code, message } = ledgerFailure(error, path);
		// A row that cannot be understood has no code of the system's.
		return code === "REGISTRY_CORRUPT" || systemCodeOf(error) === "unknown"
			? { kind: "unusable", reason: message }
			: { kind: "unreadable", reason: message };
	} finally {
		connection?.client.close();
	}
}

/** What a read-only connection says of a commit that was cut off, and of a WAL: both need one that can write. */
const NEEDS_WRITER = /^SQLITE_(READONLY_|IOERR_LOCK$)/;

function openToRead(sqlite: Sqlite, path: string): SqliteConnection {
	const busyTimeoutMs = READ_TIMEOUT_MS;
	const connection = sqlite.open(path, { readonly: true, busyTimeoutMs });
	try {
		versionOf(connection);
		return connection;
	} catch (error) {
		connection.client.close();
		if (!NEEDS_WRITER.test(systemCodeOf(error))) throw error;
		return sqlite.open(path, { readonly: false, busyTimeoutMs });
	}
}

function reasonNotToRead(connection: SqliteConnection): string | undefined {
	const { client } = connection;
	if (client.pragma("application_id", { simple: true }) !== APPLICATION_ID)
		return "It is no run of Snakepit's.";
	const version = versionOf(connection);
	return version >= 1 && version <= SCHEMA_VERSION
		? undefined
		: `It was written by another version of Snakepit (schema ${version}, this one knows 1 to ${SCHEMA_VERSION}).`;
}

function contentOf(
	{ ledger }: SqliteConnection,
	name: RunName,
	selection: WorkerSelection,
): RunContent {
	const run = readRun(ledger);
	if (run?.runId !== name.runId || ownerKey(run.owner) !== name.ownerKey)
		return {
			kind: "unusable",
			reason: "It does not hold the run that its name says.",
		};
	return {
		kind: "readable",
		run,
		workers: readWorkers(ledger, selection),
		workerCount: countWorkers(ledger),
		incidents: readIncidents(ledger, name.runId, "all"),
	};
}
