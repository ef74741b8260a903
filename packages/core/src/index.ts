// What an application needs. What extends Snakepit, or works without a pool, has entries of its own (package.json), and so has
// what is seldom named: the types of tools, of jobs, and of what changes a pool that runs.

export type { CallProgress } from "./contract/connection.ts";
export type { ErrorCode, Ran } from "./contract/error-codes.ts";
export {
	CallAbortedError,
	CallTimeoutError,
	CloseError,
	InputError,
	JobError,
	OptionsError,
	QueueError,
	RegistryError,
	type RemoteError,
	type RemoteFrame,
	SnakepitError,
	StartError,
	ToolError,
	WorkerLostError,
} from "./contract/errors.ts";
export type {
	AttemptDetails,
	EventOf,
	SnakepitEvent,
	SnakepitEventType,
	SnakepitListener,
	WorkerRef,
} from "./contract/events.ts";
export type { CloseManner } from "./contract/run-and-worker-states.ts";
export type {
	CallsOptions,
	HeartbeatOptions,
	ObserveOptions,
	OutputOptions,
	PoolOptions,
	QueueOptions,
	RecycleOptions,
	SessionsOptions,
	SizeOptions,
	StartOptions,
	StopOptions,
} from "./options/pool-options.ts";
export type {
	Affinity,
	ExecuteOptions,
	RetryOptions,
	SessionOptions,
} from "./pool/calls/call-options.ts";
export type { HealthReason, PoolHealth } from "./pool/observe/health.ts";
export type { PoolStatistics, WorkerView } from "./pool/observe/statistics.ts";
export type { Pool, PoolSession } from "./pool/pool.ts";
export type { CloseOptions } from "./pool/pool-control.ts";
export type { MapOptions, MapProgress } from "./pool/work/call-map.ts";
export type { CallStream } from "./pool/work/call-stream.ts";
export type { Lease, LeaseTask } from "./pool/work/lease.ts";
export { createPool, openRun, runJob, withPool } from "./run/open-run.ts";
export type { Run } from "./run/run.ts";
export type {
	AuditOptions,
	HistoryBoundOptions,
	JobsOptions,
	RunControlOptions,
	RunOptions,
} from "./run/run-options.ts";
export { sharedPool } from "./run/shared-pool.ts";
