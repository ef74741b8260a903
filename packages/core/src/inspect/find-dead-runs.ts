import { findStateDirectory } from "../os/state-directory.ts";
import { thisMachine } from "../os/this-machine.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { loadSqlite } from "../registry/sqlite.ts";
import { lookAsReaper } from "./look-as-reaper.ts";
import type { ReaperFindings } from "./reaper-findings.ts";

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
