import type { SparedRun } from "../cleanup/cleanup-report.ts";
import type { Orphan, SparedProcess } from "../cleanup/orphan-search.ts";
import {
	isSameProcess,
	type ProcessIdentity,
	type RunId,
} from "../contract/identity.ts";
import { findStateDirectory } from "../os/state-directory.ts";
import { thisMachine } from "../os/this-machine.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { loadSqlite } from "../registry/sqlite.ts";
import { lookAsReaper, NOTHING_FOUND } from "./look-as-reaper.ts";

/**
 * Finds what the next start of a program would clean up after, and touches nothing of it.
 *
 * @param dataDir where the ledger is; the user's state directory by default.
 * @throws StartError `PLATFORM_UNSUPPORTED`, `NODE_TOO_OLD` or `OUT_OF_DESCRIPTORS`; RegistryError `REGISTRY_UNSUPPORTED`.
 */
export async function findDeadRuns(dataDir?: string): Promise<ReaperFindings> {
	const host = thisMachine();
	const path = findStateDirectory(dataDir, host.self.machineId);
	return path === undefined
		? NOTHING_FOUND
		: await lookAsReaper(loadSqlite, new LedgerDirectory(path, "look"), host);
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
	/** Whether its owner was stopped by a signal, or by what traces it, such as a debugger. */
	readonly halted: "no" | "stopped" | "traced";
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
 * Whether the process that has this pid now was stopped by a signal, or by what traces it; `"no"` if there is none.
 *
 * @throws StartError `PLATFORM_UNSUPPORTED` or `OUT_OF_DESCRIPTORS`.
 */
export function haltedProcess(pid: number): LivingRun["halted"] {
	const machine = thisMachine();
	const observation = machine.observe(pid);
	return typeof observation === "string" ? "no" : machine.halted(observation);
}

/**
 * Whether a process of the history lives now: that very one, and not another with its pid. A process of another machine,
 * or of a pid namespace that cannot be seen from here, does not.
 *
 * @throws StartError `PLATFORM_UNSUPPORTED` or `OUT_OF_DESCRIPTORS`.
 */
export function isAlive(identity: ProcessIdentity): boolean {
	const observation = thisMachine().observe(identity.pid);
	return (
		typeof observation !== "string" && isSameProcess(observation, identity)
	);
}
