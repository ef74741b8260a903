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
export type {
	FoundDeadRun,
	LivingRun,
	ReaperFindings,
} from "./inspect/dead-runs.ts";
export {
	findDeadRuns,
	haltedProcess,
	isAlive,
} from "./inspect/dead-runs.ts";
export {
	type DoctorOptions,
	doctor,
	formatDoctorReport,
} from "./inspect/doctor.ts";
export {
	type HistoryOptions,
	type RunHistory,
	readHistory,
} from "./inspect/history.ts";
export {
	chosenDataDirectories,
	type DirectoryView,
	lookAround,
	type RunElsewhere,
	type RunOfAnother,
	type Surroundings,
	type UnreadableLedger,
} from "./inspect/surroundings.ts";
export type { FailedCall } from "./registry/failed-calls.ts";
