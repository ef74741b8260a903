// This machine's processes, seen, found and ended: nothing of the ledger or of a pool is loaded with it.

export {
	type DeadRun,
	findOrphans,
	type Orphan,
	type SearchResult,
} from "./cleanup/orphan-search.ts";
export {
	type KillLimits,
	type KillResult,
	type KillTarget,
	ProcessKiller,
} from "./cleanup/process-killer.ts";
export { isSameProcess, type ProcessIdentity } from "./identity.ts";
export { formatMarker, type Marker } from "./marker.ts";
export type { Census, CensusHost } from "./os/census.ts";
export { isRunDirectory } from "./os/private-directory.ts";
export { type ProcessCondition, SystemProcessHost } from "./os/process-host.ts";
export { systemClock } from "./os/system-clock.ts";
export { afterRunning } from "./patience.ts";
export { isRunId, type RunId } from "./run-id.ts";
