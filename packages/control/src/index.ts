export {
	type AttachOptions,
	attach,
	clientOf,
	type FoundRun,
	findRuns,
} from "./attach.ts";
export {
	ControlClient,
	type ControlClientParameters,
	ControlError,
	type ControlErrorCode,
	type LogUpdate,
	type RunCall,
	type RunUpdate,
} from "./control-client.ts";
export type {
	ActOutcome,
	CallCounts,
	CutCall,
	CutCalls,
	FailedAttempt,
	FailedCall,
	FailedCallFilter,
	HealthSnapshot,
	PoolSnapshot,
	QueueSnapshot,
	RecentCallsSnapshot,
	RunningCall,
	RunSnapshot,
	StacksSnapshot,
	StartsSnapshot,
	UsageSnapshot,
	WorkerFailure,
	WorkerSnapshot,
} from "./controlled-run.ts";
export {
	type ControlledEvent,
	type ControlScope,
	DEFAULT_SCOPES,
	POOL_ACTS,
	type PoolAct,
	SCOPES,
	type ToolSnapshot,
} from "./controlled-run.ts";
export type { LogFilter, LogLine } from "./log-stream.ts";
export {
	bucketOf,
	bucketStartMs,
	type CommandThroughput,
	type DurationCounts,
} from "./throughput.ts";
export {
	type Finding,
	type FindingKind,
	type Level,
	type Verdict,
	verdict,
	whyWaiting,
} from "./verdict.ts";
export type { ServedState, ServedTick } from "./watchers.ts";
