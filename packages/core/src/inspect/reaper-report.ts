import { findOrphans } from "../cleanup/orphan-search.ts";
import { judgeOwner, ownership } from "../cleanup/run-owner.ts";
import { findUnrecordedRuns } from "../cleanup/unrecorded-runs.ts";
import type { CensusHost } from "../os/census.ts";
import type { LayerReport } from "../protection.ts";
import type { LedgerDirectory } from "../registry/ledger-directory.ts";
import { readRunFile } from "../registry/read-run-file.ts";
import { formatRunName, ownerKey, runPath } from "../registry/run-name.ts";
import type { Sqlite } from "../registry/sqlite.ts";

/** What the next start of a program would meet. */
export interface ReaperFindings {
	/** Runs whose owner lives, this program's own included. */
	readonly living: number;
	/** Runs whose owner is gone by its identity; the next start looks at their locks too. */
	readonly dead: number;
	/** Living processes of dead runs. */
	readonly orphans: number;
	/** Runs that cannot be judged from here, or whose file cannot be read. */
	readonly unclear: number;
}

/** Looks at every open run the way the reaper does, without claiming or ending anything. */
export function lookAsReaper(
	sqlite: Sqlite,
	directory: LedgerDirectory,
	host: CensusHost,
): ReaperFindings {
	let [living, dead, orphans, unclear] = [0, 0, 0, 0];
	const census = host.census();
	const holdsNumber: CensusHost["holdsNumber"] = (...number) =>
		host.holdsNumber(...number);
	const known = new Set<string>();
	for (const name of directory.openRuns()) {
		const seen = host.observe(name.ownerPid);
		if (typeof seen !== "string" && ownerKey(seen) === name.ownerKey) {
			living++;
			known.add(formatRunName(name));
			continue;
		}
		const path = runPath(directory.runs, name, "db");
		const content = readRunFile(sqlite, path, name, "living");
		if (content.kind !== "readable") {
			unclear++;
			continue;
		}
		known.add(formatRunName(name));
		if (typeof judgeOwner(content.run.owner, host.self, seen) === "object") {
			unclear++;
			continue;
		}
		// Settled already: the next start reports it.
		if (content.run.state === "terminated") continue;
		dead++;
		const run = {
			ofRun: name.runId,
			owns: ownership(name, host.self, directory.key),
			workers: content.workers,
		};
		orphans += findOrphans(run, census, [], holdsNumber).orphans.length;
	}
	const unrecorded = findUnrecordedRuns({
		marked: census.marked,
		directoryKey: directory.key,
		self: host.self,
		isKnown: (name) => known.has(formatRunName(name)),
		observe: (pid) => host.observe(pid),
	});
	for (const run of unrecorded.dead) {
		orphans += findOrphans(run.dead, census, [], holdsNumber).orphans.length;
		if (!directory.hasFile(run.name)) dead++;
	}
	return { living, dead, orphans, unclear };
}

export function reaperReport(findings: ReaperFindings): LayerReport {
	const { living, dead, orphans, unclear } = findings;
	return {
		layer: "reaper",
		status: "active",
		detail: `the next start would clean up after ${dead} dead runs with ${orphans} living processes; ${living} runs live, ${unclear} cannot be judged from here`,
	};
}
