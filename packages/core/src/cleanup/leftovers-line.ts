import type { RunId } from "../contract/identity.ts";
import type { ReapedOrphan } from "./cleanup-report.ts";

/** More runs and pids are counted only. */
const MOST = 5;

/** What a start ended, how much, and whose it was, as one line for people; `undefined` when it ended nothing. */
export function leftoversLine(
	reaped: readonly ReapedOrphan[],
): string | undefined {
	if (reaped.length === 0) return undefined;
	const byRun = [...Map.groupBy(reaped, ({ ofRun }) => ofRun)];
	const parts = byRun.slice(0, MOST).map(partOf);
	if (byRun.length > MOST)
		parts.push(`and of ${byRun.length - MOST} more programs`);
	return `[snakepit] Ended ${counted(reaped.length)} that ${byRun.length === 1 ? "a dead program" : "dead programs"} had left: ${parts.join(", ")}.`;
}

function partOf([ofRun, orphans]: [RunId, readonly ReapedOrphan[]]): string {
	const pids = orphans.slice(0, MOST).map(({ pid }) => pid);
	const shown = `${pids.length === 1 ? "pid" : "pids"} ${pids.join(", ")}`;
	const program = orphans[0]?.program ?? "an unknown program";
	return `${orphans.length} of ${program} (run ${ofRun}: ${shown}${orphans.length > MOST ? ", …" : ""})`;
}

function counted(processes: number): string {
	return processes === 1 ? "1 process" : `${processes} processes`;
}
