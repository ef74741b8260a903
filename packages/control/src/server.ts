export {
	type ControlServer,
	type ControlServerSetting,
	serveControl,
} from "./control-server.ts";
export {
	type ActParameters,
	type CallMeter,
	type CallParameters,
	type ControlClock,
	type ControlledEvent,
	type ControlledPool,
	type ControlledRun,
	POOL_ACTS,
	type PoolAct,
	type RecordedRequest,
	type ToolSnapshot,
} from "./controlled-run.ts";
export type { ControlRecord, RECORD_NAME, SOCKET_NAME } from "./place.ts";
export {
	type RequestBody,
	type RequestObject,
	readBody,
	readObject,
} from "./request-body.ts";
export type { Refusal } from "./route.ts";
export { isSameSecret } from "./same-secret.ts";
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
