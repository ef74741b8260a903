// What ran here before, and what works on this machine. Nothing here changes anything.

export type {
	CleanupReport,
	ReapedOrphan,
	SetAsideFile,
	SparedRun,
} from "./cleanup/cleanup-report.ts";
export type { SparedProcess } from "./cleanup/orphan-search.ts";
export type {
	CleanupStrategy,
	FoundOrphan,
} from "./contract/cleanup-strategy.ts";
export { type DoctorOptions, doctor } from "./inspect/doctor.ts";
export { findDeadRuns } from "./inspect/find-dead-runs.ts";
export { formatDoctorReport } from "./inspect/format-report.ts";
export { isAlive } from "./inspect/is-alive.ts";
export {
	type HistoryOptions,
	type RunHistory,
	readHistory,
} from "./inspect/read-history.ts";
export type {
	FoundDeadRun,
	LivingRun,
	ReaperFindings,
} from "./inspect/reaper-findings.ts";
