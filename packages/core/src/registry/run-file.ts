import { closeSync, openSync, writeFileSync } from "node:fs";
import type { Clock, Random } from "../contract/clock.ts";
import { RegistryError } from "../contract/errors.ts";
import {
	generateRunId,
	type ProcessIdentity,
	type RunId,
} from "../contract/identity.ts";
import type {
	HostProgram,
	ProgramEnd,
	WorkerEnd,
	WorkerRecord,
} from "../contract/process-registry.ts";
import { withFallback } from "../contract/thrown.ts";
import type { FailedCallChanges } from "./failed-calls.ts";
import {
	type FileIdentity,
	identityOf,
	identityOfOpen,
} from "./file-identity.ts";
import { MIGRATIONS } from "./gen/migrations.ts";
import { SCHEMA } from "./gen/schema.ts";
import type { Act, HostIncident, Incident } from "./incidents.ts";
import type { Ledger, StoredRun } from "./ledger.ts";
import type { LedgerDirectory } from "./ledger-directory.ts";
import { ledgerFailure } from "./ledger-failure.ts";
import { writtenToDisk } from "./on-disk.ts";
import { createLock, RunLock } from "./run-lock.ts";
import { type RunName, runNameOf, runPath } from "./run-name.ts";
import {
	assertPlainFile,
	BESIDE,
	type Sqlite,
	type SqliteConnection,
	shareFile,
} from "./sqlite.ts";

/** "snkp": marks a SQLite file as a run of ours. Source: sqlite.org/pragma.html#pragma_application_id. */
export const APPLICATION_ID = 0x736e6b70;
/** How many migrations there are. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;
/** No other program writes a run file, so the event loop does not wait for a foreign program that locks it. */
const BUSY_TIMEOUT_MS = 25;
/**
 * Another program's start may just read the file, on a busy machine for longer. Until workers are in it, a failed write
 * fails the start of a pool; of a dead run, it gives the claim away.
 */
export const READERS_TIMEOUT_MS = 2_000;

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

/** The database of one run, open for writing by its owner or by the process that cleans up after it. */
export class RunFile {
	readonly path: string;
	/** Which file has been opened. */
	readonly identity: FileIdentity;
	/** Resolves when a file that was made is on the disk; rejects with a RegistryError. */
	readonly onDisk: Promise<void>;
	readonly #connection: SqliteConnection;
	#busyTimeoutMs: number;
	#outlives: Outlives | undefined;

	private constructor(
		path: string,
		{ identity, onDisk }: Pick<MadeFile, "identity"> & Partial<MadeFile>,
		connection: SqliteConnection,
		busyTimeoutMs: number,
	) {
		this.path = path;
		this.identity = identity;
		this.onDisk = onDisk ?? Promise.resolve();
		this.#connection = connection;
		this.#busyTimeoutMs = busyTimeoutMs;
	}

	/**
	 * Makes the file of a new run, with its row. It is with the kernel when this returns, and soon after it is
	 * {@link onDisk}.
	 *
	 * @throws RegistryError when it cannot be written.
	 */
	static create(sqlite: Sqlite, path: string, run: StoredRun): RunFile {
		try {
			const result = makeFile(path, imageOf(sqlite, run));
			const connection = connect(sqlite, path, READERS_TIMEOUT_MS);
			const file = new RunFile(path, result, connection, READERS_TIMEOUT_MS);
			try {
				shareFile(connection);
			} catch (error) {
				file.close("goes_on");
				throw error;
			}
			return file;
		} catch (error) {
			throw ledgerFailure(error, path);
		}
	}

	/**
	 * Makes a file anew from the image of one that was taken away.
	 *
	 * @throws RegistryError when it cannot be written.
	 */
	static restore(sqlite: Sqlite, path: string, image: Uint8Array): RunFile {
		try {
			makeFile(path, image);
			return RunFile.open(sqlite, path);
		} catch (error) {
			throw ledgerFailure(error, path);
		}
	}

	/** Opens a file that was read before, and brings one of an older version up to date. Throws what SQLite throws. */
	static open(
		sqlite: Sqlite,
		path: string,
		busyTimeoutMs: number = BUSY_TIMEOUT_MS,
	): RunFile {
		const connection = connect(sqlite, path, busyTimeoutMs);
		try {
			shareFile(connection);
			if (versionOf(connection) < SCHEMA_VERSION) upgrade(connection);
			const result = { identity: identityOf(path) };
			return new RunFile(path, result, connection, busyTimeoutMs);
		} catch (error) {
			connection.client.close();
			throw error;
		}
	}

	/**
	 * One commit: worker rows with their ordinals, the run's row if given, what went wrong, what was asked for, and which
	 * calls failed.
	 *
	 * While the run lasts, the disk is not waited for: who reads the rows looks for
	 * processes, and a machine without power has none.
	 */
	write(
		rows: readonly {
			readonly worker: WorkerRecord;
			readonly ordinal: number;
		}[],
		marker: string,
		run: StoredRun | undefined,
		outlives: Outlives = "host",
		noted: {
			readonly incidents: readonly HostIncident[];
			readonly acts: readonly Act[];
			readonly failedCalls: FailedCallChanges;
		} = { incidents: [], acts: [], failedCalls: { rows: [], removed: [] } },
	): void {
		this.commit((ledger) => {
			for (const { worker, ordinal } of rows)
				ledger.writeWorker(worker, ordinal, marker);
			if (run !== undefined) ledger.writeRun(run);
			for (const incident of noted.incidents)
				ledger.incidents.write(incident, true);
			for (const act of noted.acts) ledger.acts.write(act);
			ledger.failedCalls.write(noted.failedCalls);
		}, outlives);
		if (rows.length === 0 || this.#busyTimeoutMs === BUSY_TIMEOUT_MS) return;
		this.#busyTimeoutMs = BUSY_TIMEOUT_MS;
		this.#connection.client.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
	}

	/**
	 * One commit: how workers of a dead run ended, the run's row, and what happened while no host lived.
	 *
	 * @param endedAt of those whose time nothing says.
	 */
	writeEnds(
		ends: readonly {
			readonly incarnation: string;
			readonly end: Pick<WorkerEnd, "reason" | "killer">;
			readonly endedAt: number | undefined;
		}[],
		endedAt: number,
		run: StoredRun,
		incidents: readonly Incident[] = [],
	): void {
		this.commit((ledger) => {
			for (const each of ends)
				ledger.endWorker(each.incarnation, each.end, each.endedAt ?? endedAt);
			for (const incident of incidents) ledger.incidents.write(incident, false);
			ledger.writeRun(run);
		});
	}

	/** Everything that is in it, also when its path is another file's by now; `undefined` when that cannot be read. */
	image(): Uint8Array | undefined {
		return withFallback(undefined, () => {
			assertPlainFile(`${this.path}-journal`);
			return this.#connection.client.serialize();
		});
	}

	/**
	 * To read from. SQLite opens the journal for every statement, and would wait for
	 * ever in a pipe of its name.
	 */
	get ledger(): Ledger {
		assertPlainFile(`${this.path}-journal`);
		return this.#connection.ledger;
	}

	/** Makes the changes in one commit. Throws what SQLite throws. */
	commit(
		changes: (ledger: Ledger) => void,
		outlives: Outlives = "power_loss",
	): void {
		const { ledger } = this;
		const { client } = this.#connection;
		if (this.#outlives !== outlives) {
			client.pragma(`synchronous = ${SYNCHRONOUS[outlives]}`);
			this.#outlives = outlives;
		}
		client.transaction(() => changes(ledger)).immediate();
	}

	/** Closes it, as safely as it was written to last. A run that has ended becomes one plain file, which can be read also where nothing can be written. */
	close(life: "goes_on" | "is_over"): void {
		const { client } = this.#connection;
		try {
			assertPlainFile(`${this.path}-journal`);
			if (life === "is_over") client.pragma("journal_mode = DELETE");
		} catch {
			// Another program has it locked, or something has the journal's name: what is beside it stays.
		}
		client.close();
	}
}

/**
 * Records how a program ended, in the file of its run, which was over before: nobody else writes to it. Nothing where that
 * cannot be done, or the history has no such file any more.
 */
export function amendEnded(
	sqlite: Sqlite,
	path: string,
	programEnd: ProgramEnd,
): void {
	let connection: SqliteConnection | undefined;
	try {
		const busyTimeoutMs = BUSY_TIMEOUT_MS;
		connection = sqlite.open(path, { readonly: false, busyTimeoutMs });
		connection.client.pragma(`synchronous = ${SYNCHRONOUS.host}`);
		connection.ledger.endProgram(programEnd);
	} catch {
		// The program ends: there is nobody to tell.
	} finally {
		connection?.client.close();
	}
}

interface MadeFile {
	readonly identity: FileIdentity;
	readonly onDisk: Promise<void>;
}

function makeFile(path: string, content: Uint8Array): MadeFile {
	const descriptor = openSync(path, "wx", 0o600);
	try {
		writeFileSync(descriptor, content);
		const identity = identityOfOpen(descriptor);
		const onDisk = writtenToDisk(descriptor, path).catch((error: unknown) => {
			throw ledgerFailure(error, path);
		});
		// Who opens the run waits for it; who made the file again has nobody to tell.
		onDisk.catch(() => {});
		return { identity, onDisk };
	} catch (error) {
		closeSync(descriptor);
		throw error;
	}
}

/** A run file with no run in it. The same for all, and making the tables takes longer than copying them. */
let empty: Buffer | undefined;

/** The file of a new run as it is on the disk: written at once, it needs no commit and no journal. */
function imageOf(sqlite: Sqlite, run: StoredRun): Buffer {
	empty ??= image(sqlite.inMemory(), (connection) => {
		const { client } = connection;
		client.pragma(`application_id = ${APPLICATION_ID}`);
		client.exec(SCHEMA);
		client.pragma(`user_version = ${SCHEMA_VERSION}`);
	});
	return image(sqlite.inMemory(empty), ({ ledger }) => ledger.writeRun(run));
}

function image(
	connection: SqliteConnection,
	change: (connection: SqliteConnection) => void,
): Buffer {
	try {
		change(connection);
		return connection.client.serialize();
	} finally {
		connection.client.close();
	}
}

function connect(
	sqlite: Sqlite,
	path: string,
	busyTimeoutMs: number,
): SqliteConnection {
	const connection = sqlite.open(path, { readonly: false, busyTimeoutMs });
	connection.client.pragma(`synchronous = ${SYNCHRONOUS.power_loss}`);
	return connection;
}

/** A program that is killed in between leaves tables that are up to date already. */
function upgrade({ client, ledger }: SqliteConnection): void {
	ledger.migrate();
	client.pragma(`user_version = ${SCHEMA_VERSION}`);
}

export function versionOf({ client }: SqliteConnection): number {
	return Number(client.pragma("user_version", { simple: true }));
}

export interface NewRunParts {
	readonly sqlite: Sqlite;
	readonly directory: LedgerDirectory;
	readonly owner: ProcessIdentity;
	readonly program: HostProgram;
	readonly clock: Clock;
	readonly random: Random;
	/** Makes the private runtime directory of the run, and the way back. */
	readonly makeRunDirectory: (runId: RunId, ownerKey: string) => string;
	readonly removeFiles: (paths: readonly string[]) => void;
}

/** A new run: locked, and in the ledger as `initializing`. */
export interface NewRun {
	readonly name: RunName;
	readonly lock: RunLock;
	readonly file: RunFile;
	readonly run: StoredRun;
}

/** A fresh id is free nearly always: 100 in a row are not bad luck. */
const DRAWS = 100;

/**
 * Opens a new run: draws a free id, takes its lock, then makes its file. A program
 * that finds the file finds the lock held.
 *
 * @throws RegistryError when the ledger cannot be written; nothing is left then.
 */
export async function openNewRun(parts: NewRunParts): Promise<NewRun> {
	const { name, lock } = drawRun(parts);
	const path = runPath(parts.directory.runs, name, "db");
	let directory: string | undefined;
	try {
		directory = parts.makeRunDirectory(name.runId, name.ownerKey);
		const run: StoredRun = {
			runId: name.runId,
			state: "initializing",
			owner: parts.owner,
			directory,
			program: parts.program,
			startedAt: parts.clock.wall(),
			endedAt: undefined,
			clean: undefined,
			endedBy: undefined,
			claimedBy: undefined,
			killed: 0,
			cleanupMs: undefined,
			programEnd: undefined,
		};
		const file = RunFile.create(parts.sqlite, path, run);
		return { name, lock, file, run };
	} catch (error) {
		const files = ["", ...BESIDE].map((ending) => path + ending);
		parts.removeFiles(files);
		lock.release("removed");
		// To remove a directory takes a descriptor: the lock may have had the last one.
		if (directory !== undefined) parts.removeFiles([directory]);
		throw error;
	}
}

/** Create, then look: of two that draw the same id at once at least one sees the other. */
function drawRun({ sqlite, directory, owner, clock, random }: NewRunParts): {
	readonly name: RunName;
	readonly lock: RunLock;
} {
	for (let draw = 0; draw < DRAWS; draw++) {
		const name = runNameOf(generateRunId(clock.wall(), random), owner);
		const path = runPath(directory.runs, name, "lock");
		try {
			const lock = createLock(sqlite, path);
			if (!(lock instanceof RunLock)) continue;
			if (!directory.isInUse(name)) return { name, lock };
			lock.release("removed");
		} catch (error) {
			throw ledgerFailure(error, path);
		}
	}
	throw new RegistryError({
		code: "REGISTRY_LOCKED",
		message: `No run could be opened in ${directory.path}: ${DRAWS} names in a row were taken or could not be locked. Set dataDir to a directory on a local disk: network file systems often do not support locks.`,
	});
}
