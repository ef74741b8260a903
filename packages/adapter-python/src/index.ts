export type {
	HostFunction,
	HostFunctionContext,
} from "./conversation/host-functions.ts";
export {
	type MadeEnvironment,
	type PythonEnvironment,
	type PythonEnvironmentOptions,
	pythonEnvironment,
} from "./environment/python-environment.ts";
export {
	DEFAULTS,
	type HandleOptions,
	type PreloadOptions,
	type PythonOptions,
	type SharedMemoryOptions,
	type ToolSource,
	type WatchOptions,
	type WorkerEnv,
} from "./options.ts";
export { findPython, type PythonAdapter, python } from "./python-adapter.ts";
export type { AttachmentSink } from "./shared-memory/shared-memory.ts";
export type {
	PythonStartError,
	PythonStartErrorCode,
} from "./start-error-codes.ts";
export { PlainDate, PlainDateTime } from "./values/dates.ts";
export { decodeValue } from "./values/decode-value.ts";
export { type EncodeOptions, encodeValue } from "./values/encode-value.ts";
export { Handle, importModule } from "./values/handle.ts";
export type { DType, DTypeData, DTypeOf } from "./values/nd-array.ts";
export { NdArray } from "./values/nd-array.ts";
export { Float, Tuple } from "./values/python-types.ts";
export type { ToolDescription } from "./worker/worker-facts.ts";
