import { statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import {
	compareIdentity,
	type Observation,
	type ProcessIdentity,
} from "../contract/identity.ts";
import type {
	ProcessRegistry,
	WorkerRecord,
} from "../contract/process-registry.ts";
import type { ProcessHost } from "../contract/world.ts";
import { FAILED_CALLS_LIMIT, type FailedCall } from "./failed-calls.ts";
import type { Act, HostIncident, Incident } from "./incidents.ts";
import type { StoredRun, WorkerSelection } from "./ledger.ts";
import { fileNamesIn, type LedgerDirectory } from "./ledger-directory.ts";
import { ledgerFailure, systemCodeOf } from "./ledger-failure.ts";
import { APPLICATION_ID, SCHEMA_VERSION, versionOf } from "./run-file.ts";
import { ownerKey, type RunName } from "./run-name.ts";
import type { Sqlite, SqliteConnection } from "./sqlite.ts";

/** How much of the past is kept. */
interface HistoryBound {
	readonly runs: number;
	readonly ageMs: number;
}

export interface HistoryFile {
	readonly fileName: string;
	readonly modifiedAt: number;
}

/** Decides which files of the history go: the too old ones, and the oldest beyond the number. */
export function surplusHistory(
	files: readonly HistoryFile[],
	nowMs: number,
	bound: HistoryBound,
): readonly string[] {
	return files
		.toSorted((a, b) => b.modifiedAt - a.modifiedAt)
		.filter(
			({ modifiedAt }, index) =>
				index >= bound.runs || nowMs - modifiedAt > bound.ageMs,
		)
		.map((file) => file.fileName);
}

/** Removes what exceeds the bound. What cannot be removed stays: another start may do it at the same time. */
export function boundHistory(
	directory: LedgerDirectory,
	nowMs: number,
	bound: HistoryBound,
): void {
	const files = fileNamesIn(directory.history).flatMap((fileName) => {
		const stats = statSync(join(directory.history, fileName), {
			throwIfNoEntry: false,
		});
		return stats === undefined ? [] : [{ fileName, modifiedAt: stats.mtimeMs }];
	});
	for (const fileName of surplusHistory(files, nowMs, bound)) {
		try {
			unlinkSync(join(directory.history, fileName));
		} catch {
			// Removed by another start, or not ours to remove.
		}
	}
}

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
			/** What went wrong while its host lived, and what happened after its death, in the order in which it did. */
			readonly incidents: readonly (Incident | HostIncident)[];
			/** What was asked of its pools, and by whom, in the order in which it was. */
			readonly acts: readonly Act[];
			/** Those that were asked for, oldest first. */
			readonly failedCalls: readonly FailedCall[];
	  }
	/** Damaged, foreign or newer: of no use to anyone. */
	| { readonly kind: "unusable"; readonly reason: string }
	/** Locked or forbidden: perhaps not for ever. */
	| { readonly kind: "unreadable"; readonly reason: string };

/**
 * Reads a run file, also one of an older version; never throws. It changes
 * nothing but what a writer that was killed in the middle of a commit has left
 * half done: that is undone first.
 */
export function readRunFile(
	sqlite: Sqlite,
	path: string,
	name: RunName,
	selection: WorkerSelection = "all",
	failedCalls: number = FAILED_CALLS_LIMIT,
): RunContent {
	let connection: SqliteConnection | undefined;
	try {
		connection = openToRead(sqlite, path);
		const reason = reasonNotToRead(connection);
		if (reason !== undefined) return { kind: "unusable", reason };
		if (versionOf(connection) === SCHEMA_VERSION)
			return contentOf(connection, name, selection, failedCalls);
		const copy = sqlite.copy(connection);
		try {
			copy.ledger.migrate();
			return contentOf(copy, name, selection, failedCalls);
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

/** What a read-only connection reports for a commit that was cut off, and of a WAL: both need one that can write. */
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
		return "It is not a Snakepit run.";
	const version = versionOf(connection);
	return version >= 1 && version <= SCHEMA_VERSION
		? undefined
		: `It was written by another version of Snakepit (schema ${version}; this version reads 1 to ${SCHEMA_VERSION}).`;
}

function contentOf(
	{ ledger }: SqliteConnection,
	name: RunName,
	selection: WorkerSelection,
	failedCalls: number,
): RunContent {
	const run = ledger.run();
	if (run?.runId !== name.runId || ownerKey(run.owner) !== name.ownerKey)
		return {
			kind: "unusable",
			reason: "The run in it is not the one in its name.",
		};
	return {
		kind: "readable",
		run,
		workers: ledger.workers(selection),
		workerCount: ledger.countWorkers(),
		incidents: ledger.incidents.every(name.runId),
		acts: ledger.acts.every(),
		failedCalls: ledger.failedCalls.latest(failedCalls),
	};
}

/** What one look at the rows showed. */
interface ReconciliationStep {
	/** Gone at this look and at the one before. */
	readonly vanished: readonly string[];
	/** Gone for the first time: most likely its exit is only not reported yet. */
	readonly missing: ReadonlySet<string>;
}

/** Decides which rows have lost their process without a report of its exit. */
export function decideVanished(
	rows: readonly WorkerRecord[],
	missingBefore: ReadonlySet<string>,
	self: ProcessIdentity,
	observe: (pid: number) => Observation,
): ReconciliationStep {
	const vanished: string[] = [];
	const missing = new Set<string>();
	for (const { incarnation, identity } of rows) {
		if (identity === undefined) continue;
		const verdict = compareIdentity(identity, self, observe(identity.pid));
		if (verdict !== "gone") continue;
		if (missingBefore.has(incarnation)) vanished.push(incarnation);
		else missing.add(incarnation);
	}
	return { vanished, missing };
}

/** Compares the ledger with the process table, look by look. */
export class Reconciliation {
	readonly #registry: ProcessRegistry;
	readonly #host: ProcessHost;
	#missing: ReadonlySet<string> = new Set();

	constructor(registry: ProcessRegistry, host: ProcessHost) {
		this.#registry = registry;
		this.#host = host;
	}

	/** Looks once, records as `vanished` what was gone twice in a row, and returns those incarnations. */
	look(): readonly string[] {
		const { self } = this.#host;
		const step = decideVanished(
			this.#registry.living(),
			this.#missing,
			self,
			(pid) => this.#host.observe(pid),
		);
		this.#missing = step.missing;
		for (const incarnation of step.vanished)
			this.#registry.end(incarnation, {
				exit: undefined,
				reason: "vanished",
				killer: "unknown",
			});
		return step.vanished;
	}
}
