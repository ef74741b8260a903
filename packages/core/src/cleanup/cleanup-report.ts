import type { FoundBy } from "../contract/cleanup-strategy.ts";
import type { SparedReason } from "../contract/events.ts";
import type { RunId } from "../contract/identity.ts";
import type { SparedProcess } from "./orphan-search.ts";

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
