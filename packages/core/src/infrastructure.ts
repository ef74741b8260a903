// What pools are made of, for programs that work without one and for what protects a run from outside:
// this machine's processes, seen, started, found and ended. It loads neither the ledger nor a pool.

export {
	type DeadRun,
	findOrphans,
	type Orphan,
	type SearchResult,
} from "./cleanup/orphan-search.ts";
export {
	type Fate,
	type KillLimits,
	type KillResult,
	type KillTarget,
	ProcessKiller,
} from "./cleanup/process-killer.ts";
export type { Clock, Random, Timer } from "./contract/clock.ts";
export type { ProcessExit } from "./contract/identity.ts";
export {
	formatMarker,
	generateRunId,
	INCARNATION_VARIABLE,
	isRunId,
	isSameProcess,
	MARKER_VARIABLE,
	type Marker,
	markerOf,
	type Observation,
	type ProcessIdentity,
	parseMarker,
	processExit,
	processKey,
	type RunId,
} from "./contract/identity.ts";
export {
	RUN_TRANSITIONS,
	type RunState,
	WORKER_TABLE,
	type WorkerEffect,
	type WorkerState,
	type WorkerStep,
	type WorkerTrigger,
} from "./contract/run-and-worker-states.ts";
export type {
	LifelineListener,
	MarkedProcess,
	OwnGroup,
	ProcessFacts,
	ProcessHost,
	ProcessSource,
	ProcessSpec,
	SignalOutcome,
	SignalTarget,
	StartedProcess,
	World,
} from "./contract/world.ts";
export type { ProcessSnapshot, SnapshotHost } from "./os/descendants.ts";
export { requireToSpawn } from "./os/descriptors.ts";
export {
	endIfCopy,
	NODE_ONLY_VARIABLE,
	NOT_NODE_STATUS,
} from "./os/node-only.ts";
export { isRunDirectory, makeDirectories } from "./os/private-directory.ts";
export { spawnFailed } from "./os/spawn-failure.ts";
export { systemClock, systemRandom } from "./os/system-clock.ts";
export { type ProcessCondition, SystemProcessHost } from "./os/this-machine.ts";
export {
	type Execution,
	ownExecutable,
	packageOrigins,
	thisExecution,
} from "./os/this-program.ts";
