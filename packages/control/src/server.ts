export type { ControlRecord, RECORD_NAME, SOCKET_NAME } from "./attach.ts";
export type { Refusal } from "./control-server.ts";
export {
	type ControlServer,
	type ControlServerParameters,
	serveControl,
} from "./control-server.ts";
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
	type ActParameters,
	type CallMeter,
	type CallParameters,
	type ControlClock,
	type ControlledEvent,
	type ControlledPool,
	type ControlledRun,
	type ControlScope,
	DEFAULT_SCOPES,
	type LogBacklog,
	POOL_ACTS,
	type PoolAct,
	type RecordedRequest,
	type SaidClient,
	SCOPES,
	type ToolSnapshot,
} from "./controlled-run.ts";
export {
	isSameSecret,
	type RequestBody,
	type RequestObject,
	readBody,
	readObject,
} from "./request-body.ts";
