// What adapters import, besides the errors.

export type {
	Adapter,
	CommandDescription,
	ReloadablePool,
} from "./contract/adapter.ts";
export type {
	BackCall,
	BackCallWrapper,
	CallLimits,
	CallOptions,
	CallProgress,
	CallSession,
	Cancellation,
	LocatedRun,
	MeasuredRun,
	RemoteUsage,
	SendingInTrace,
	WorkerLocation,
} from "./contract/connection.ts";
export {
	type Connection,
	NOT_SAMPLED,
	type PingReply,
	type Prefetch,
	RECALLED,
} from "./contract/connection.ts";
export type { InputErrorCode, StartErrorCode } from "./contract/error-codes.ts";
export {
	brandAs,
	ConnectionBrokenError,
	callAborted,
} from "./contract/errors.ts";
export type {
	CompanionSlot,
	LaunchDescriptor,
	LaunchSpec,
	LaunchStacks,
	ListenerAddress,
	PreloadSlot,
	StartReport,
	WorkerCompanion,
	WorkerLogRecord,
	WorkerProcess,
	WorkerSlot,
} from "./contract/launch.ts";
export {
	answerInParts,
	type Pausable,
	refuseInput,
	stdioOf,
} from "./contract/stdio.ts";
export { jsonLine } from "./contract/text.ts";
export { messageOf } from "./contract/thrown.ts";
export {
	absolutePath,
	anyWorkingDirectory,
	workingDirectory,
} from "./contract/working-directory.ts";
export { abortable } from "./deadline.ts";
export {
	PROGRAM_CHECKS,
	type ProgramOptions,
	programSpec,
	stdioSpec,
} from "./options/program.ts";
