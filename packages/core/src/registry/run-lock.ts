import { closeSync, openSync, type Stats, statSync, unlinkSync } from "node:fs";
import { systemCodeOf } from "./ledger-failure.ts";
import type { Sqlite, SqliteConnection } from "./sqlite.ts";

/**
 * Proves that a run's owner lives: the kernel frees it at the owner's death and
 * at no other time.
 *
 * An empty SQLite file in an open exclusive transaction, since Node has no file
 * locks of its own. Nobody in the owner's process may open it a second time.
 */
export class RunLock {
	readonly path: string;
	/** Held, not only used: a connection that is garbage drops its lock. */
	readonly #connection: SqliteConnection;

	constructor(path: string, connection: SqliteConnection) {
		this.path = path;
		this.#connection = connection;
	}

	/** Lets go of it. With `"removed"` the run is over and the file goes too, while it is still held. */
	release(file: "kept" | "removed"): void {
		if (file === "removed") removeFile(this.path);
		this.#connection.client.close();
	}
}

export type LockAttempt =
	| RunLock
	/** Somebody has it. */
	| "held"
	/** There is no such file, or no more. */
	| "missing"
	/** The system refuses to say. */
	| "refused";

/** Makes the lock of a new run and takes it; `"held"` when the name is taken. */
export function createLock(sqlite: Sqlite, path: string): LockAttempt {
	try {
		closeSync(openSync(path, "wx", 0o600));
	} catch (error) {
		if (systemCodeOf(error) === "EEXIST") return "held";
		throw error;
	}
	const attempt = takeLock(sqlite, path);
	if (attempt === "refused") removeFile(path);
	return attempt;
}

/** Makes the lock of a dead run that has none, and takes it. */
export function restoreLock(sqlite: Sqlite, path: string): LockAttempt {
	try {
		closeSync(openSync(path, "a", 0o600));
	} catch {
		return "refused";
	}
	return takeLock(sqlite, path);
}

/** Takes a lock if it is free; never waits. */
export function takeLock(sqlite: Sqlite, path: string): LockAttempt {
	const before = lookAt(path);
	if (before === undefined) return "missing";
	let connection: SqliteConnection | undefined;
	try {
		connection = sqlite.open(path, { readonly: false, busyTimeoutMs: 0 });
		// Nothing is ever written: no journal beside it.
		connection.client.pragma("journal_mode = MEMORY");
		connection.client.exec("BEGIN EXCLUSIVE");
	} catch (error) {
		connection?.client.close();
		return systemCodeOf(error).startsWith("SQLITE_BUSY") ? "held" : "refused";
	}
	// Its last holder may have removed it while we opened it.
	if (lookAt(path)?.ino === before.ino) return new RunLock(path, connection);
	connection.client.close();
	return "missing";
}

function lookAt(path: string): Stats | undefined {
	return statSync(path, { throwIfNoEntry: false });
}

function removeFile(path: string): void {
	try {
		unlinkSync(path);
	} catch {
		// Gone already, or a directory that became read-only: the next start finds a lock without a run.
	}
}
