import {
	closeSync,
	constants,
	lstatSync,
	openSync,
	renameSync,
	unlinkSync,
} from "node:fs";
import { type FileIdentity, fateOf, identityAt } from "./file-identity.ts";
import type { LedgerDirectory } from "./ledger-directory.ts";
import { systemCodeOf } from "./ledger-failure.ts";
import { type RunName, runPath } from "./run-name.ts";
import type { Sqlite, SqliteConnection } from "./sqlite.ts";

/** What has its name by then is not opened through a link, and not waited for. */
const EMPTIED =
	constants.O_WRONLY |
	constants.O_TRUNC |
	constants.O_NOFOLLOW |
	constants.O_NONBLOCK;

/**
 * Proves that a run's owner lives: the kernel frees it at the owner's death and
 * at no other time.
 *
 * An empty SQLite file in an open exclusive transaction, since Node has no file
 * locks of its own. Nobody in the owner's process may open it a second time.
 */
export class RunLock {
	readonly path: string;
	/** Which file is locked. */
	readonly identity: FileIdentity;
	/** Held, not only used: a connection that is garbage drops its lock. */
	readonly #connection: SqliteConnection;

	constructor(
		path: string,
		identity: FileIdentity,
		connection: SqliteConnection,
	) {
		this.path = path;
		this.identity = identity;
		this.#connection = connection;
	}

	/** Releases it. With `"removed"` the run has ended and the file is removed, while the lock is still held. */
	release(file: "kept" | "removed"): void {
		if (file === "removed") removeFile(this.path);
		this.#connection.client.close();
	}
}

export type LockAttempt =
	| RunLock
	/** Another process has it. */
	| "held"
	/** There is no such file, or no more. */
	| "missing"
	/** The system does not report it. */
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

/**
 * Makes a lock usable that was filled or exchanged, and takes it. Nobody
 * holds it: that is seen before its content is.
 *
 * A plain file is emptied, not replaced: of two starts that do so at once one
 * gets the lock. Anything else is moved to `aside`, also a file with a second
 * name, which another program may need.
 */
export function mendLock(
	sqlite: Sqlite,
	path: string,
	aside: string,
): LockAttempt {
	try {
		const stats = lstatSync(path, { throwIfNoEntry: false });
		if (stats === undefined) return "missing";
		if (!stats.isFile() || stats.nlink !== 1) {
			renameSync(path, aside);
			closeSync(openSync(path, "wx", 0o600));
		} else if (stats.size > 0) closeSync(openSync(path, EMPTIED));
		else return "refused";
	} catch {
		return "refused";
	}
	return takeLock(sqlite, path);
}

/** Removes the lock of a run that has nothing else, if no process holds it. */
export function removeFreeLock(
	parts: { readonly sqlite: Sqlite; readonly directory: LedgerDirectory },
	name: RunName,
): void {
	const { sqlite, directory } = parts;
	const path = runPath(directory.runs, name, "lock");
	let lock = takeLock(sqlite, path);
	if (lock === "refused")
		lock = mendLock(sqlite, path, directory.lockAside(name));
	if (lock instanceof RunLock) lock.release("removed");
}

/**
 * Of two that try at once, one gets it: it waits so long for the other, which has no more than the first half of the
 * lock and gives that up.
 */
const RACE_TIMEOUT_MS = 100;

/** Takes a lock if it is free; waits only for others that try to. */
export function takeLock(sqlite: Sqlite, path: string): LockAttempt {
	const before = identityAt(path);
	if (before === undefined) return "missing";
	let connection: SqliteConnection | undefined;
	try {
		const busyTimeoutMs = RACE_TIMEOUT_MS;
		connection = sqlite.open(path, { readonly: false, busyTimeoutMs });
		// Nothing is ever written: no journal beside it.
		connection.client.pragma("journal_mode = MEMORY");
		// In the exclusive mode a connection that failed to lock keeps what others read with.
		connection.client.pragma("locking_mode = NORMAL");
		connection.client.exec("BEGIN EXCLUSIVE");
	} catch (error) {
		connection?.client.close();
		return systemCodeOf(error).startsWith("SQLITE_BUSY") ? "held" : "refused";
	}
	// Its last holder may have removed it while we opened it.
	if (fateOf(path, before) === "there")
		return new RunLock(path, before, connection);
	connection.client.close();
	return "missing";
}

function removeFile(path: string): void {
	try {
		unlinkSync(path);
	} catch {
		// Gone already, or a directory that became read-only: the next start finds a lock without a run.
	}
}
