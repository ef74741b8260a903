export { type AttachOptions, attach } from "./attach.ts";
export {
	ControlClient,
	type ControlClientSetting,
	type LogUpdate,
	type RunCall,
	type RunUpdate,
} from "./control-client.ts";
export { ControlError, type ControlErrorCode } from "./control-error.ts";
export {
	type ControlledEvent,
	POOL_ACTS,
	type PoolAct,
	type ToolSnapshot,
} from "./controlled-run.ts";
export {
	addCounts,
	bucketOf,
	bucketStartMs,
	type DurationCounts,
	quantileMs,
} from "./durations.ts";
export { type FoundRun, findRuns } from "./find-runs.ts";
export type { LogFilter, LogLine } from "./logs.ts";
export {
	type ControlScope,
	DEFAULT_SCOPES,
	SCOPES,
} from "./scopes.ts";
export type {
	CallCounts,
	FailedAttempt,
	PoolSnapshot,
	QueueSnapshot,
	RunningCall,
	RunSnapshot,
	UsageSnapshot,
	WorkerSnapshot,
} from "./snapshot.ts";
export type { CommandThroughput } from "./throughput.ts";
export { type Verdict, verdict, whyWaiting } from "./verdict.ts";
export type { ServedState, ServedTick } from "./watchers.ts";
