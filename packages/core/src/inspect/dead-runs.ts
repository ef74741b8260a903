import type { SparedRun } from "../cleanup/cleanup-report.ts";
import {
	findOrphans,
	type Orphan,
	type SparedProcess,
} from "../cleanup/orphan-search.ts";
import { judgeOwner, ownership } from "../cleanup/run-owner.ts";
import { findUnrecordedRuns } from "../cleanup/unrecorded-runs.ts";
import {
	isSameProcess,
	type ProcessIdentity,
	type RunId,
} from "../contract/identity.ts";
import type { CensusHost } from "../os/census.ts";
import { findStateDirectory } from "../os/state-directory.ts";
import { thisMachine } from "../os/this-machine.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { readRunFile } from "../registry/read-run-file.ts";
import { formatRunName, ownerKey, runPath } from "../registry/run-name.ts";
import { loadSqlite, type Sqlite } from "../registry/sqlite.ts";

export const NOTHING_FOUND: ReaperFindings = {
	...{ living: [], dead: [], unclear: [] },
};

/**
 * Finds what the next start of a program would clean up after, and touches nothing of it.
 *
 * @param dataDir where the ledger is; the user's state directory by default.
 * @throws StartError `PLATFORM_UNSUPPORTED`, `NODE_TOO_OLD` or `OUT_OF_DESCRIPTORS`; RegistryError `REGISTRY_UNSUPPORTED`.
 */
export async function findDeadRuns(dataDir?: string): Promise<ReaperFindings> {
	const host = thisMachine();
	const sqlite = await loadSqlite();
	const path = findStateDirectory(dataDir, host.self.machineId);
	return path === undefined
		? NOTHING_FOUND
		: lookAsReaper(sqlite, new LedgerDirectory(path, "look"), host);
}

/** Looks at every open run the way the reaper does, without claiming or ending anything. */
export function lookAsReaper(
	sqlite: Sqlite,
	directory: LedgerDirectory,
	host: CensusHost,
): ReaperFindings {
	const living: LivingRun[] = [];
	const dead: FoundDeadRun[] = [];
	const unclear: SparedRun[] = [];
	const census = host.census();
	const leftBy = (run: Parameters<typeof findOrphans>[0]) =>
		findOrphans(run, census, [], (...number) => host.holdsNumber(...number));
	const known = new Set<string>();
	for (const name of directory.openRuns()) {
		const { runId } = name;
		const seen = host.observe(name.ownerPid);
		if (typeof seen !== "string" && ownerKey(seen) === name.ownerKey) {
			living.push({ runId, pid: name.ownerPid });
			known.add(formatRunName(name));
			continue;
		}
		const path = runPath(directory.runs, name, "db");
		const content = readRunFile(sqlite, path, name, "living");
		if (content.kind !== "readable") {
			unclear.push({ runId, reason: "unreadable" });
			continue;
		}
		known.add(formatRunName(name));
		const { run, workers } = content;
		const verdict = judgeOwner(run.owner, host.self, seen);
		if (typeof verdict === "object") {
			unclear.push({ runId, reason: verdict.spared });
			continue;
		}
		// Settled already: the next start reports it.
		if (run.state === "terminated") continue;
		const owns = ownership(name, host.self, directory.key);
		const program = run.program?.name;
		dead.push({ runId, program, ...leftBy({ ofRun: runId, owns, workers }) });
	}
	const unrecorded = findUnrecordedRuns({
		marked: census.marked,
		directoryKey: directory.key,
		self: host.self,
		isKnown: (name) => known.has(formatRunName(name)),
		observe: (pid) => host.observe(pid),
	});
	for (const run of unrecorded.dead) {
		const { runId } = run.name;
		dead.push({ runId, program: undefined, ...leftBy(run.dead) });
	}
	return { living, dead, unclear };
}

/** A run whose owner is gone by its identity; a reaper looks at its lock too. */
export interface FoundDeadRun {
	readonly runId: RunId;
	/** The name of the program; `undefined` where no record says it. */
	readonly program: string | undefined;
	/** Living processes of it. */
	readonly orphans: readonly Pick<Orphan, "pid" | "foundBy">[];
	/** Processes that look like its own and are left alone. */
	readonly spared: readonly SparedProcess[];
}

/** A run whose owner lives. */
export interface LivingRun {
	readonly runId: RunId;
	/** Of its owner. */
	readonly pid: number;
}

/** What a reaper would meet. */
export interface ReaperFindings {
	/** Runs whose owner lives, this program's own included. */
	readonly living: readonly LivingRun[];
	readonly dead: readonly FoundDeadRun[];
	/** Runs that cannot be judged from here, or whose file cannot be read. */
	readonly unclear: readonly SparedRun[];
}

/**
 * Whether a process of the history lives now: that very one, and not another with its pid. A process of another machine,
 * or of a pid namespace that cannot be seen from here, does not.
 *
 * @throws StartError `PLATFORM_UNSUPPORTED` or `OUT_OF_DESCRIPTORS`.
 */
export function isAlive(identity: ProcessIdentity): boolean {
	const found = thisMachine().observe(identity.pid);
	return typeof found !== "string" && isSameProcess(found, identity);
}
