import { closeSync, openSync } from "node:fs";
import {
	formatMarker,
	markerOf,
	type ProcessIdentity,
	type RunId,
} from "../../src/contract/identity.ts";
import type {
	ProcessRegistry,
	Reservation,
	WorkerEnd,
	WorkerRecord,
} from "../../src/contract/process-registry.ts";
import type { StoredRun } from "../../src/registry/ledger.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { RunFile } from "../../src/registry/run-file.ts";
import {
	type RunName,
	runNameOf,
	runPath,
} from "../../src/registry/run-name.ts";
import { loadSqlite } from "../../src/registry/sqlite.ts";
import { reserved } from "../../src/registry/workers.ts";
import { machine } from "./hosts.ts";

/** A run as a dead host would have left it, with whatever is wrong with it. */
export interface CraftedRun {
	readonly name: RunName;
	readonly run: StoredRun;
	readonly path: string;
	readonly lockPath: string;
	readonly marker: string;
}

let crafted = 0;

/** An owner that is gone: the pid of a process that never was. It is younger than this one, which may so have adopted its orphans. */
export function deadOwner(
	fields: Partial<ProcessIdentity> = {},
): ProcessIdentity {
	const { startTime: own } = machine.self;
	const startTime = /^\d+$/.test(own) ? `${Number(own) + 1}` : "1";
	return { ...machine.self, pid: 4_194_303, startTime, ...fields };
}

/** A row of a worker. */
export function workerRow(
	runId: string,
	fields: Partial<WorkerRecord> = {},
): WorkerRecord {
	const reservation = {
		incarnation: `${runId}-1`,
		workerId: "w-0",
		pool: "w",
		fingerprint: "sleep#0123",
		files: [],
	};
	return {
		...reserved(undefined, reservation, runId as RunId, 1),
		status: "active",
		activatedAt: 2,
		...fields,
	};
}

/** Writes a run file and its lock, which nobody holds. */
export async function craftRun(
	dataDir: string,
	owner: ProcessIdentity = deadOwner(),
	fields: Partial<StoredRun> = {},
	workers: (runId: string) => readonly WorkerRecord[] = () => [],
): Promise<CraftedRun> {
	const sqlite = await loadSqlite();
	const directory = new LedgerDirectory(dataDir);
	const own = `zz${(++crafted).toString(36).padStart(5, "0")}` as RunId;
	const { runId = own } = fields;
	const name = runNameOf(runId, owner);
	const path = runPath(directory.runs, name, "db");
	const lockPath = runPath(directory.runs, name, "lock");
	const run: StoredRun = {
		runId,
		state: "running",
		owner,
		program: undefined,
		directory: `/nowhere/snakepit-${runId}-abcdef`,
		startedAt: 1,
		endedAt: undefined,
		clean: undefined,
		endedBy: undefined,
		claimedBy: undefined,
		killed: 0,
		cleanupMs: undefined,
		programEnd: undefined,
		...fields,
	};
	closeSync(openSync(lockPath, "w", 0o600));
	const file = RunFile.create(sqlite, path, run);
	const marker = formatMarker(markerOf(runId, owner, directory.key));
	const rows = workers(runId).map((worker, ordinal) => ({ worker, ordinal }));
	file.write(rows, marker, undefined);
	file.close("goes_on");
	return { name, run, path, lockPath, marker };
}

/** Enters a worker that has no process yet, and returns its incarnation. */
export function reserveWorker(
	registry: ProcessRegistry,
	fields: Partial<Reservation> = {},
): string {
	const incarnation = registry.nextIncarnation();
	registry.reserve({
		...{ incarnation, workerId: "w-0", pool: "w", fingerprint: "x" },
		...{ files: [], ...fields },
	});
	return incarnation;
}

/** How a worker ends with its pool. */
export const CLOSED: WorkerEnd = {
	...{ exit: undefined, reason: "closed", killer: "none" },
};
