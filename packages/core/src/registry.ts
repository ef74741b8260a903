// The ledger without a pool: what `run.infrastructure` has, and the clean-up after dead runs from outside of any host.

export type { AuditRule, AuditStatistics } from "./audit/auditor.ts";
export {
	type DeadRunsReport,
	type ReapOptions,
	reapDeadRuns,
} from "./cleanup/reap-dead-runs.ts";
export {
	type RunSettlement,
	type SettledRun,
	type SettleRunParts,
	settleRun,
} from "./cleanup/settle-run.ts";
export type {
	EndReason,
	Killer,
	ProcessRegistry,
	RegistryStatistics,
	Reservation,
	RunRecord,
	WorkerEnd,
	WorkerRecord,
	WorkerStatus,
} from "./contract/process-registry.ts";
export type { Incident } from "./registry/incidents.ts";
export type { RunInfrastructure } from "./run/run.ts";
