// The ledger without a pool: a share in this program's run, and the settlement of a dead one from outside of any host.

export type { AuditRule, AuditStatistics } from "./audit/auditor.ts";
export {
	type RunSettlement,
	type SettledRun,
	type SettleRunParts,
	settleRun,
} from "./cleanup/settle-run.ts";
export type { Incident } from "./registry/incident.ts";
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
} from "./registry/process-registry.ts";
export { type AcquireRunOptions, acquireRun } from "./run/acquire-run.ts";
export type { RunHandle } from "./run/run-handle.ts";
