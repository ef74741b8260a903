import type { Clock, Random } from "../contract/clock.ts";
import { RegistryError } from "../contract/errors.ts";
import {
	generateRunId,
	type ProcessIdentity,
	type RunId,
} from "../contract/identity.ts";
import type { HostProgram } from "../contract/process-registry.ts";
import type { StoredRun } from "./ledger.ts";
import type { LedgerDirectory } from "./ledger-directory.ts";
import { ledgerFailure } from "./ledger-failure.ts";
import { RunFile } from "./run-file.ts";
import { createLock, RunLock } from "./run-lock.ts";
import { type RunName, runNameOf, runPath } from "./run-name.ts";
import { BESIDE, type Sqlite } from "./sqlite.ts";

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
			if (!directory.isTaken(name)) return { name, lock };
			lock.release("removed");
		} catch (error) {
			throw ledgerFailure(error, path);
		}
	}
	throw new RegistryError({
		code: "REGISTRY_LOCKED",
		ran: "no",
		message: `No run could be opened in ${directory.path}: ${DRAWS} names in a row were taken or could not be locked. Set dataDir to a directory on a local disk: network file systems often do not support locks.`,
	});
}
