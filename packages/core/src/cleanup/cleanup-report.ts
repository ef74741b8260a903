import type { FoundBy } from "../contract/cleanup-strategy.ts";
import type { SparedReason } from "../contract/events.ts";
import type { RunId } from "../contract/identity.ts";
import type { Orphan, SparedProcess } from "./orphan-search.ts";

/** What the start of a run found of dead ones, what it ended, and what it left alone and why. */
export interface CleanupReport {
	/** Runs whose owner was dead and that this start cleaned up after. */
	readonly deadRuns: readonly RunId[];
	/** Processes found of dead runs, spared ones included. */
	readonly found: number;
	readonly reaped: readonly ReapedOrphan[];
	readonly sparedProcesses: readonly SparedProcess[];
	readonly sparedRuns: readonly SparedRun[];
	/** Run files that were of no use: where they are now. */
	readonly setAside: readonly SetAsideFile[];
	readonly durationMs: number;
}

export interface ReapedOrphan {
	readonly ofRun: RunId;
	/** The name of the program that left it; `undefined` where its ledger does not say. */
	readonly program: string | undefined;
	readonly pid: number;
	readonly how: "ended_on_term" | "killed";
	readonly foundBy: FoundBy;
}

/** A run that was left alone. */
export interface SparedRun {
	readonly runId: RunId;
	readonly reason: SparedReason;
}

export interface SetAsideFile {
	readonly path: string;
	readonly reason: string;
}

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

/** A process of a dead run that was ended, with its identity. */
export type ReapedProcess = Omit<ReapedOrphan, "program"> &
	Pick<Orphan, "identity" | "incarnation">;
