// Apart from what is exported, whose types must not lead to the ledger's: packages do not depend on Drizzle's types.
import type { SparedRun } from "../cleanup/cleanup-report.ts";
import { findOrphans } from "../cleanup/orphan-search.ts";
import { findUnrecordedRuns } from "../cleanup/reaper.ts";
import { judgeOwner, ownership } from "../cleanup/run-claim.ts";
import type { ProcessSnapshot, SnapshotHost } from "../os/descendants.ts";
import { readRunFile } from "../registry/history.ts";
import type { LedgerDirectory } from "../registry/ledger-directory.ts";
import { formatRunName, ownerKey, runPath } from "../registry/run-name.ts";
import type { Sqlite } from "../registry/sqlite.ts";
import type { FoundDeadRun, LivingRun, ReaperFindings } from "./dead-runs.ts";

export const NOTHING_FOUND: ReaperFindings = {
	...{ living: [], dead: [], unclear: [] },
};

/**
 * Looks at every open run the way the reaper does, without claiming or ending anything.
 *
 * @param load is called only when there is a run whose owner is gone: most often there is none.
 */
export async function lookAsReaper(
	load: () => Promise<Sqlite>,
	directory: LedgerDirectory,
	host: SnapshotHost,
	snapshot: ProcessSnapshot = host.snapshot(),
): Promise<ReaperFindings> {
	const living: LivingRun[] = [];
	const dead: FoundDeadRun[] = [];
	const unclear: SparedRun[] = [];
	const leftBy = (run: Parameters<typeof findOrphans>[0]) =>
		findOrphans(run, snapshot, [], (...number) => host.holdsNumber(...number));
	const known = new Set<string>();
	for (const name of directory.openRuns()) {
		const { runId } = name;
		const observation = host.observe(name.ownerPid);
		if (
			typeof observation !== "string" &&
			ownerKey(observation) === name.ownerKey
		) {
			const halted = host.halted(observation);
			living.push({ runId, pid: name.ownerPid, halted });
			known.add(formatRunName(name));
			continue;
		}
		const path = runPath(directory.runs, name, "db");
		const content = readRunFile(await load(), path, name, "living");
		if (content.kind !== "readable") {
			unclear.push({ runId, reason: "unreadable" });
			continue;
		}
		known.add(formatRunName(name));
		const { run, workers } = content;
		const verdict = judgeOwner(run.owner, host.self, observation);
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
		marked: snapshot.marked,
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
