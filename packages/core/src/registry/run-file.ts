import { closeSync, openSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ledgerFailure, systemCodeOf } from "./ledger-failure.ts";
import type { WorkerEnd, WorkerRecord } from "./process-registry.ts";
import { ownerKey, type RunName } from "./run-name.ts";
import {
	endWorker,
	type Ledger,
	readRun,
	readWorkers,
	type StoredRun,
	writeRun,
	writeWorker,
} from "./schema.ts";
import type { Sqlite, SqliteConnection } from "./sqlite.ts";

/** "snkp": says that a SQLite file is a run of ours. Source: sqlite.org/pragma.html#pragma_application_id. */
const APPLICATION_ID = 0x736e6b70;
/** How many migrations there are. */
export const SCHEMA_VERSION = 1;
/** Nobody else writes a run file: who locks it is a stranger, and the event loop does not wait for strangers. */
const BUSY_TIMEOUT_MS = 25;
const MIGRATIONS = fileURLToPath(new URL("../../migrations", import.meta.url));

/** What a run file holds, or why it cannot be used. */
export type RunContent =
	| {
			readonly kind: "readable";
			readonly run: StoredRun;
			readonly workers: readonly WorkerRecord[];
	  }
	/** Damaged, foreign or newer: of no use to anyone. */
	| { readonly kind: "unusable"; readonly reason: string }
	/** Locked or forbidden: perhaps not for ever. */
	| { readonly kind: "unreadable"; readonly reason: string };

/** The database of one run, open for writing by its owner or by who cleans up after it. */
export class RunFile {
	readonly path: string;
	readonly #connection: SqliteConnection;

	private constructor(path: string, connection: SqliteConnection) {
		this.path = path;
		this.#connection = connection;
	}

	/**
	 * Makes the file of a new run, with its row.
	 *
	 * @throws RegistryError when it cannot be written.
	 */
	static async create(
		sqlite: Sqlite,
		path: string,
		run: StoredRun,
	): Promise<RunFile> {
		const { migrate } = await import("drizzle-orm/better-sqlite3/migrator");
		let file: RunFile | undefined;
		try {
			closeSync(openSync(path, "wx", 0o600));
			file = RunFile.open(sqlite, path);
			const { client, ledger } = file.#connection;
			client.pragma("journal_mode = WAL");
			client.pragma(`application_id = ${APPLICATION_ID}`);
			migrate(ledger, { migrationsFolder: MIGRATIONS });
			client.pragma(`user_version = ${SCHEMA_VERSION}`);
			file.write([], "", run);
			return file;
		} catch (error) {
			file?.close("goes_on");
			throw ledgerFailure(error, path);
		}
	}

	/** Opens a file that was read before. Throws what SQLite throws. */
	static open(sqlite: Sqlite, path: string): RunFile {
		const connection = sqlite.open(path, {
			readonly: false,
			busyTimeoutMs: BUSY_TIMEOUT_MS,
		});
		// NORMAL may lose the last commits at power loss.
		connection.client.pragma("synchronous = FULL");
		return new RunFile(path, connection);
	}

	/** One commit: worker rows with their ordinals, and the run's row if given. */
	write(
		rows: readonly {
			readonly worker: WorkerRecord;
			readonly ordinal: number;
		}[],
		marker: string,
		run: StoredRun | undefined,
	): void {
		this.#commit((ledger) => {
			for (const { worker, ordinal } of rows)
				writeWorker(ledger, worker, ordinal, marker);
			if (run !== undefined) writeRun(ledger, run);
		});
	}

	/** One commit: how workers of a dead run ended, and the run's row. */
	writeEnds(
		ends: readonly {
			readonly incarnation: string;
			readonly end: Pick<WorkerEnd, "reason" | "killer">;
		}[],
		endedAt: number,
		run: StoredRun,
	): void {
		this.#commit((ledger) => {
			for (const { incarnation, end } of ends)
				endWorker(ledger, incarnation, end, endedAt);
			writeRun(ledger, run);
		});
	}

	#commit(changes: (ledger: Ledger) => void): void {
		this.#connection.client
			.transaction(() => changes(this.#connection.ledger))
			.immediate();
	}

	/** Closes it. A run that is over becomes one plain file, which can be read also where nothing can be written. */
	close(life: "goes_on" | "is_over"): void {
		const { client } = this.#connection;
		try {
			if (life === "is_over") client.pragma("journal_mode = DELETE");
		} catch {
			// Somebody reads it now: it stays as it is.
		}
		client.close();
	}
}

/** Reads a run file without changing it; never throws. */
export function readRunFile(
	sqlite: Sqlite,
	path: string,
	name: RunName,
): RunContent {
	let connection: SqliteConnection | undefined;
	try {
		connection = sqlite.open(path, {
			readonly: true,
			busyTimeoutMs: BUSY_TIMEOUT_MS,
		});
		return contentOf(connection, name);
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

function contentOf(connection: SqliteConnection, name: RunName): RunContent {
	const { client, ledger } = connection;
	const pragma = (text: string): unknown =>
		client.pragma(text, { simple: true });
	const unusable = (reason: string): RunContent => ({
		kind: "unusable",
		reason,
	});
	if (pragma("application_id") !== APPLICATION_ID)
		return unusable("It is no run of Snakepit's.");
	if (pragma("user_version") !== SCHEMA_VERSION)
		return unusable(
			`It was written by another version of Snakepit (schema ${pragma("user_version")}, this one knows ${SCHEMA_VERSION}).`,
		);
	const run = readRun(ledger);
	if (run?.runId !== name.runId || ownerKey(run.owner) !== name.ownerKey)
		return unusable("It does not hold the run that its name says.");
	return { kind: "readable", run, workers: readWorkers(ledger) };
}
