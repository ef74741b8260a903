import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import type { CleanupStrategy } from "../cleanup/cleanup-strategy.ts";
import { ProcessKiller } from "../cleanup/process-killer.ts";
import { reap } from "../cleanup/reaper.ts";
import type { SnakepitEvent } from "../events.ts";
import { formatMarker, markerOf } from "../marker.ts";
import type { CensusHost } from "../os/census.ts";
import { createRunDirectory } from "../os/private-directory.ts";
import { createSharedDirectory, directoriesOf } from "../os/shared-memory.ts";
import { boundHistory, readRuns } from "../registry/history.ts";
import type { HistoryBound } from "../registry/history-bound.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { openNewRun } from "../registry/new-run.ts";
import { OwnFiles } from "../registry/own-files.ts";
import { ownerKey } from "../registry/run-name.ts";
import type { Sqlite } from "../registry/sqlite.ts";
import { SqliteRegistry } from "../registry/sqlite-registry.ts";
import type { Clock, Random } from "../world.ts";
import { Engagements } from "./engagements.ts";

export interface StartRunParts {
	readonly sqlite: Sqlite;
	readonly host: CensusHost;
	readonly clock: Clock;
	readonly random: Random;
	/** Where the ledger is. */
	readonly dataDir: string;
	readonly strategy: CleanupStrategy | undefined;
	/** How much of the past is kept. */
	readonly history: HistoryBound;
	readonly emit: (event: SnakepitEvent) => void;
}

/** A run that is in the ledger, and has cleaned up after the dead. */
export interface StartedRun {
	readonly registry: SqliteRegistry;
	readonly killer: ProcessKiller;
	readonly runDirectory: string;
	readonly sharedDirectory: string | undefined;
	readonly marker: string;
	readonly engagements: Engagements;
	readonly report: CleanupReport;
}

/**
 * Starts a run: into the ledger first, then clean up after dead runs, then
 * running. Nothing else is started before.
 *
 * @throws RegistryError or StartError; nothing is left then.
 */
export async function startRun(parts: StartRunParts): Promise<StartedRun> {
	const { sqlite, host, clock, random, emit } = parts;
	const directory = new LedgerDirectory(parts.dataDir);
	const { name, lock, file, run } = await openNewRun({
		sqlite,
		directory,
		owner: host.self,
		clock,
		random,
		makeRunDirectory: createRunDirectory,
		removeFiles: (paths) => host.remove(paths),
	});
	const sharedDirectory = createSharedDirectory(run.directory);
	const marker = formatMarker(markerOf(name.runId, host.self, directory.key));
	const files = new OwnFiles({ sqlite, directory, name, file, lock });
	const engagements = new Engagements({
		runId: name.runId,
		host,
		clock,
		random,
		marker,
		dataDir: parts.dataDir,
		runDirectory: run.directory,
		living: () => registry.living(),
		emit,
	});
	const registry = new SqliteRegistry({
		clock,
		emit,
		files,
		run,
		marker,
		otherRuns: () => readRuns(sqlite, directory, ownerKey(host.self)),
		listener: {
			activated: (worker) => engagements.watch(worker),
			ended: (incarnation) => engagements.unwatch(incarnation),
		},
		letGo: (over) => {
			// What is not over needs its directory as evidence of what to remove.
			if (over) host.remove(directoriesOf(run.directory, name.runId));
			if (over) directory.retire(name);
			files.release(over ? "removed" : "kept");
		},
	});
	const killer = new ProcessKiller(host, clock);
	try {
		emit({
			type: "run.started",
			wallMs: clock.wall(),
			runId: name.runId,
			dataDir: directory.path,
		});
		registry.transition("cleaning_stale");
		const report = await reap({
			...parts,
			directory,
			killer,
			claimant: { kind: "reaper", runId: name.runId, tell: emit },
		});
		boundHistory(directory, clock.wall(), parts.history);
		registry.transition("running");
		return {
			registry,
			killer,
			runDirectory: run.directory,
			sharedDirectory,
			marker,
			engagements,
			report,
		};
	} catch (error) {
		registry.close();
		throw error;
	}
}
