// What an application uses.

// What an adapter uses.
export type {
	Adapter,
	BackCall,
	BackCallWrapper,
	CallOptions,
	Connection,
	LaunchSpec,
	PingReply,
	PreloadPlace,
	WorkerLogRecord,
	WorkerProcess,
	WorkerSlot,
} from "./adapter.ts";
export type { AuditRule, AuditStatistics } from "./audit/auditor.ts";
export { brandAs } from "./brand.ts";
export type {
	CleanupReport,
	ReapedOrphan,
	SetAsideFile,
	SparedRun,
} from "./cleanup/cleanup-report.ts";
export type {
	CleanupStrategy,
	FoundBy,
	FoundOrphan,
} from "./cleanup/cleanup-strategy.ts";
export type { SparedProcess } from "./cleanup/orphan-search.ts";
export {
	type Fate,
	type KillLimits,
	type KillResult,
	type KillTarget,
	ProcessKiller,
} from "./cleanup/process-killer.ts";
export {
	CallAbortedError,
	CallTimeoutError,
	ConnectionBrokenError,
	type ErrorCode,
	type ErrorFields,
	InputError,
	type InputErrorCode,
	OptionsError,
	type OptionsErrorCode,
	QueueError,
	type QueueErrorCode,
	type Ran,
	RegistryError,
	type RegistryErrorCode,
	type RemoteError,
	SnakepitError,
	StartError,
	type StartErrorCode,
	ToolError,
	WorkerLostError,
	type WorkerLostErrorCode,
} from "./errors.ts";
export type {
	EventOf,
	EventTime,
	SnakepitEvent,
	SnakepitEventType,
	SnakepitListener,
} from "./events.ts";
export type {
	HealthStatus,
	HeartbeatStatistics,
} from "./heartbeat/heartbeat-monitor.ts";
export {
	type HeartbeatEvidence,
	type HeartbeatRule,
	type HeartbeatVerdict,
	judgeHeartbeat,
} from "./heartbeat/verdict.ts";
export {
	compareIdentity,
	type IdentityVerdict,
	isSameProcess,
	type Observation,
	type ProcessIdentity,
} from "./identity.ts";
export { type DoctorOptions, doctor } from "./inspect/doctor.ts";
export { formatDoctorReport } from "./inspect/format-report.ts";
export {
	type HistoryOptions,
	type RunHistory,
	readHistory,
} from "./inspect/read-history.ts";
// What follows pools from within.
export type {
	AcceptedCall,
	AttemptInstrument,
	CallInstrument,
	DispatchedAttempt,
	Instrument,
	InstrumentedPool,
	InstrumentProblem,
	ObservedPool,
	PoolInstrument,
	PoolLook,
	WorkerUsage,
} from "./instrument.ts";
export {
	formatMarker,
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	type Marker,
	markerOf,
	parseMarker,
} from "./marker.ts";
export {
	aFunction,
	type Check,
	type Complete,
	checkOptions,
	milliseconds,
	nonEmptyText,
	oneOf,
	optional,
	wholeNumber,
} from "./option-check.ts";
export { DEFAULTS, type Default, type DefaultName } from "./option-defaults.ts";
export type {
	AuditOptions,
	CallsOptions,
	HeartbeatOptions,
	HistoryBoundOptions,
	OutputOptions,
	PoolOptions,
	QueueOptions,
	RecycleOptions,
	SessionsOptions,
	SizeOptions,
	StartOptions,
	StopOptions,
} from "./options.ts";
export type { Census, CensusHost } from "./os/census.ts";
// What another process source is made of.
export type { Answer } from "./os/fork/answer.ts";
export { ForkLine, type ForkLineSetting } from "./os/fork/fork-line.ts";
export { makeDirectories } from "./os/make-directories.ts";
export { SystemProcessHost } from "./os/process-host.ts";
export { sendSignal } from "./os/send-signal.ts";
export { spawnFailed, unidentified } from "./os/spawn-failure.ts";
export { systemClock } from "./os/system-clock.ts";
export { systemRandom } from "./os/system-random.ts";
export type {
	Affinity,
	ExecuteOptions,
	SessionOptions,
} from "./pool/call-options.ts";
export type { CallStream } from "./pool/call-stream.ts";
export type { CloseOptions } from "./pool/close-options.ts";
export { createPool } from "./pool/create-pool.ts";
export type { DurationSummary } from "./pool/histogram.ts";
export type { MapOptions, MapProgress } from "./pool/map-options.ts";
export type { Pool, RegistryView } from "./pool/pool.ts";
export type { PoolSession } from "./pool/pool-session.ts";
export type { PoolStatistics, WorkerView } from "./pool/statistics.ts";
export type {
	AnswerCommandOf,
	ArgsOf,
	CallParametersOf,
	ChunkOf,
	CommandOf,
	ResultOf,
	StreamCommandOf,
	StreamResultOf,
	ToolMap,
	UntypedTools,
} from "./pool/tools.ts";
export { withPool } from "./pool/with-pool.ts";
export type {
	CallOutcome,
	CallRef,
	RecycleReason,
	RetireReason,
	WorkerRef,
} from "./pool-events.ts";
export type {
	Engagement,
	LayerReport,
	Protection,
	ProtectionContext,
	WatchedWorker,
} from "./protection.ts";
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
// The infrastructure by itself.
export { type AcquireRunOptions, acquireRun } from "./run/acquire-run.ts";
export type { RunHandle } from "./run/run-handle.ts";
export type { SparedReason } from "./run-events.ts";
export {
	extractRunId,
	generateRunId,
	isRunId,
	RUN_ID_ARGUMENT,
	type RunId,
} from "./run-id.ts";
export { nextRunState, RUN_TRANSITIONS, type RunState } from "./run-state.ts";
export {
	stepWorker,
	WORKER_TABLE,
	type WorkerEffect,
	type WorkerOccurrence,
	type WorkerState,
	type WorkerStep,
} from "./worker-state.ts";
export type {
	Clock,
	LifelineListener,
	MarkedProcess,
	OwnGroup,
	ProcessExit,
	ProcessFacts,
	ProcessHost,
	ProcessSource,
	ProcessSpec,
	Random,
	SignalOutcome,
	SignalTarget,
	StartedProcess,
	Timer,
	World,
} from "./world.ts";
