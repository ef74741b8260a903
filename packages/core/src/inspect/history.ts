import { existsSync, realpathSync, statSync } from "node:fs";
import {
	creditProtections,
	deathOf,
	endOfGone,
	judgeOwner,
} from "../cleanup/run-claim.ts";
import { compareIdentity, generatedAt } from "../contract/identity.ts";
import type { RunRecord, WorkerRecord } from "../contract/process-registry.ts";
import type { ProcessHost } from "../contract/world.ts";
import {
	type Check,
	type Complete,
	checkOptions,
	nonEmptyText,
	oneOf,
	optional,
	wholeNumber,
} from "../options/check.ts";
import { isRunDirectory } from "../os/private-directory.ts";
import { findStateDirectory } from "../os/state-directory.ts";
import { systemClock } from "../os/system-clock.ts";
import { assertPlatform, thisMachine } from "../os/this-machine.ts";
import {
	FAILED_CALLS_LIMIT,
	type FailedCall,
} from "../registry/failed-calls.ts";
import { type RunContent, readRunFile } from "../registry/history.ts";
import { readIncidentFiles } from "../registry/incident-files.ts";
import type { Act, HostIncident, Incident } from "../registry/incidents.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { ownerKey, type RunName, runPath } from "../registry/run-name.ts";
import { loadSqlite, type Sqlite } from "../registry/sqlite.ts";
import { isWorker } from "../registry/workers.ts";
import { HISTORY_DEFAULTS } from "../run/run-options.ts";
import { type OwnRegistry, ownRegistry } from "../run/shared-run.ts";

/** How much `readHistory` returns. */
export interface HistoryOptions {
	/** Where the ledger is; by default, in the user's state directory. */
	readonly dataDir?: string | undefined;
	/** At most this many runs; by default, as many as are kept. @default 200 */
	readonly runs?: number | undefined;
	/** At most this many workers per run, the most recently reserved ones. @default 1 000 */
	readonly workersPerRun?: number | undefined;
	/** At most this many failed calls per run, the latest ones; by default, as many as are kept. @default 500 */
	readonly failedCallsPerRun?: number | undefined;
	/**
	 * `"living"`: only runs whose end is not recorded, with all their workers whose end is not recorded, whatever
	 * `workersPerRun` says. This opens no history file, so it is fast even with a long history.
	 */
	readonly only?: "living" | undefined;
	/**
	 * Only runs whose end is recorded, and whose file was written at this time or later, in milliseconds since the Unix
	 * epoch: with all that ended since then, perhaps some that ended before. This opens no other file.
	 */
	readonly endedSinceMs?: number | undefined;
}

/** One run, living or ended, and how its workers ended. */
export interface RunHistory extends Omit<RunRecord, "state"> {
	/** `"host_died"`: its program is gone and did not end it, and no later start has cleaned up after it: judged as it is read. */
	readonly state: RunRecord["state"] | "host_died";
	/** Oldest first. */
	readonly workers: readonly WorkerRecord[];
	/** How many workers and jobs there were in all. A preloaded parent and a companion are in the list, and not counted. */
	readonly workerCount: number;
	/** What went wrong while its program lived, and what protections saw and did after its death, in the order in which it happened. */
	readonly incidents: readonly (Incident | HostIncident)[];
	/** What was asked of its pools (`pool.pause()`, `snakepit drain`) and by whom, in that order: the last 200. */
	readonly acts: readonly Act[];
	/** Calls that failed or timed out, oldest first: those that the ledger keeps. */
	readonly failedCalls: readonly FailedCall[];
}

export const READ_DEFAULTS: Readonly<
	Complete<Omit<HistoryOptions, "dataDir" | "only" | "endedSinceMs">>
> = {
	runs: HISTORY_DEFAULTS.runs.value,
	workersPerRun: 1_000,
	failedCallsPerRun: FAILED_CALLS_LIMIT,
};

export const READ_CHECKS: Readonly<Record<keyof HistoryOptions, Check>> = {
	dataDir: optional(nonEmptyText),
	runs: optional(wholeNumber(1)),
	workersPerRun: optional(wholeNumber(0)),
	failedCallsPerRun: optional(wholeNumber(0)),
	only: optional(oneOf("living")),
	endedSinceMs: optional(wholeNumber(0)),
};

/**
 * Reads how the runs of a data directory ended, newest first, and of their
 * workers: how each ended, by whom, and how long cleaning up took.
 *
 * Reads one file at a time, as far as it is asked for; changes nothing and
 * starts nothing. Runs whose file cannot be read are left out, and those that
 * other threads of this very process have.
 *
 * @throws OptionsError; StartError `PLATFORM_UNSUPPORTED` or `NODE_TOO_OLD`; RegistryError `REGISTRY_UNSUPPORTED`.
 */
export async function* readHistory(
	options: HistoryOptions = {},
): AsyncGenerator<RunHistory, void, undefined> {
	checkOptions("readHistory", options, READ_CHECKS);
	assertPlatform(process.platform);
	const host = thisMachine();
	const { self } = host;
	const path = findStateDirectory(options.dataDir, self.machineId);
	if (path === undefined) return;
	const directory = new LedgerDirectory(realpathSync(path), "look");
	const groups = bySecond(directory, options);
	// Whoever looks for what has just ended mostly finds nothing.
	if (options.endedSinceMs !== undefined && groups.length === 0) return;
	const sqlite = await loadSqlite();
	const own = ownRegistry(directory.path);
	const latest = options.workersPerRun ?? READ_DEFAULTS.workersPerRun;
	const calls = options.failedCallsPerRun ?? READ_DEFAULTS.failedCallsPerRun;
	const { only } = options;
	const parts = { sqlite, directory, host, latest, calls, only };
	let left = options.runs ?? READ_DEFAULTS.runs;
	for (const names of groups) {
		const found: RunHistory[] = [];
		for (const name of names) {
			if (name.runId === own?.runId) found.push(ownHistory(own, parts));
			else found.push(...(await historyOf(parts, name)));
		}
		for (const history of found.toSorted((a, b) => b.startedAt - a.startedAt)) {
			yield history;
			left--;
			if (left === 0) return;
		}
	}
}

/** The second of the start is in the names: no file has to be opened to sort by it, latest first. */
function bySecond(
	directory: LedgerDirectory,
	{ only, endedSinceMs }: HistoryOptions,
): readonly (readonly RunName[])[] {
	const nowMs = systemClock.wall();
	const ended = only === "living" ? [] : directory.endedRuns();
	const names =
		endedSinceMs === undefined
			? [...directory.openRuns(), ...ended]
			: ended.filter((name) => {
					const path = runPath(directory.history, name, "db");
					const file = statSync(path, { throwIfNoEntry: false });
					return file !== undefined && file.mtimeMs >= endedSinceMs;
				});
	const groups = Map.groupBy(names, ({ runId }) => generatedAt(runId, nowMs));
	return [...groups].sort(([a], [b]) => b - a).map(([, names]) => names);
}

interface HistoryParts {
	readonly sqlite: Sqlite;
	readonly directory: LedgerDirectory;
	readonly host: Pick<ProcessHost, "self" | "observe" | "killedForMemory">;
	/** How many workers of each run. */
	readonly latest: number;
	/** How many failed calls of each run. */
	readonly calls: number;
	readonly only: HistoryOptions["only"];
}

/** Nothing where it cannot be read. */
async function historyOf(
	{ sqlite, directory, host, latest, calls, only }: HistoryParts,
	name: RunName,
): Promise<readonly RunHistory[]> {
	const ended = runPath(directory.history, name, "db");
	const open = runPath(directory.runs, name, "db");
	// It may have come to the history since the names were read.
	const isEnded = existsSync(ended);
	// A file that this process has open must not be opened twice in it.
	if (!isEnded && name.ownerKey === ownerKey(host.self)) return [];
	if (isEnded && only === "living") return [];
	const content = readRunFile(
		sqlite,
		isEnded ? ended : open,
		name,
		only ?? { latest },
		calls,
	);
	if (content.kind !== "readable") return [];
	if (only === "living" && content.run.state === "terminated") return [];
	const { run, workers, workerCount, incidents, acts, failedCalls } = content;
	const { directory: _, claimedBy: __, ...record } = run;
	const abandoned = await abandonedRun(content, host);
	return [
		{
			...record,
			...{ workers, workerCount, incidents, acts, failedCalls },
			...(abandoned && { ...abandoned, state: "host_died" }),
		},
	];
}

function ownHistory(
	registry: OwnRegistry,
	{ latest, calls, only }: Pick<HistoryParts, "latest" | "calls" | "only">,
): RunHistory {
	const all = registry.list();
	const chosen = latest === 0 ? [] : all.slice(-latest);
	return {
		...registry.record,
		workers: only === "living" ? registry.living() : chosen,
		workerCount: all.filter(isWorker).length,
		incidents: registry.incidents,
		acts: registry.acts,
		failedCalls: calls === 0 ? [] : registry.failedCalls.slice(-calls),
	};
}

type Readable = Extract<RunContent, { readonly kind: "readable" }>;
type Found = Pick<Readable, "workers" | "incidents"> &
	Pick<RunRecord, "programEnd">;

/**
 * What became of a run that its host did not end, as it is found now: the host is judged by machine, boot, pid and
 * start time, each worker by its pid and start time.
 *
 * @returns `undefined` when the host lives, or that cannot be judged from here, or the run is over.
 */
async function abandonedRun(
	content: Readable,
	host: HistoryParts["host"],
): Promise<Found | undefined> {
	const { run, workers } = content;
	if (run.state === "terminated") return undefined;
	const observation = host.observe(run.owner.pid);
	const verdict = judgeOwner(run.owner, host.self, observation);
	if (typeof verdict === "object") return undefined;
	const boot = verdict === "dead" ? "same" : "other";
	const isGone = ({ identity, status }: WorkerRecord): boolean =>
		status !== "ended" &&
		(boot === "other" ||
			identity === undefined ||
			compareIdentity(identity, host.self, host.observe(identity.pid)) ===
				"gone");
	const incidents = [...content.incidents, ...leftBehind(content)].sort(
		(a, b) => a.wallMs - b.wallMs,
	);
	const gone = workers.filter(isGone).map((worker) => ({
		incarnation: worker.incarnation,
		end: endOfGone(worker, boot),
	}));
	const ends = new Map(
		creditProtections(gone, workers, incidents).map((each) => [
			each.incarnation,
			each,
		]),
	);
	return {
		incidents,
		programEnd: await deathOf(run, boot, host),
		workers: workers.map((worker) => {
			const ended = ends.get(worker.incarnation);
			if (ended === undefined) return worker;
			const { endedAt } = ended;
			const end = { exit: undefined, ...ended.end };
			return { ...worker, status: "ended", endedAt, end };
		}),
	};
}

/** What protections without a database wrote, and no start has moved to the ledger yet. */
function leftBehind({ run, workers }: Readable): Found["incidents"] {
	const { directory, runId } = run;
	return isRunDirectory(directory, runId)
		? readIncidentFiles(directory, runId, () => workers)
		: [];
}
