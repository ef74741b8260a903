/** For packages with their own transport: not part of the public API. */

export {
	type AdapterKind,
	FRAMED,
	framedOver,
	loadTransport,
	type OpenChannel,
	type Transport,
} from "./adapter-kind.ts";
export {
	type FrameChannel,
	type FrameListener,
	LENT_BYTES,
	PendingPings,
	type WorkerAddress,
} from "./channel/frame-channel.ts";
export type { Dial } from "./channel/socket-channel.ts";
export type {
	FrameCodec,
	HostFrame,
	PingAnswer,
	ToolRecord,
	WorkerFrame,
} from "./frames/frames.ts";
export { runProgram } from "./interpreter/run-program.ts";
export { type BridgeProgram, pythonAdapter } from "./python-adapter.ts";
export { PYTHON_CHECKS } from "./resolve-options.ts";
