import type { SparedRun } from "../cleanup/cleanup-report.ts";
import type { Orphan, SparedProcess } from "../cleanup/orphan-search.ts";
import type { RunId } from "../contract/identity.ts";

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
