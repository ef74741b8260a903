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
export type {
	PythonStartError,
	PythonStartErrorCode,
} from "./start-error-codes.ts";
export { decodeValue } from "./values/decode-value.ts";
export type { DType, DTypeData, DTypeOf } from "./values/dtype.ts";
export { type EncodeOptions, encodeValue } from "./values/encode-value.ts";
export { Float } from "./values/float.ts";
export { Handle, importModule } from "./values/handle.ts";
export { NdArray } from "./values/nd-array.ts";
export { PlainDate, PlainDateTime } from "./values/plain-date.ts";
export { Tuple } from "./values/tuple.ts";
export type { ToolDescription } from "./worker/tool-description.ts";
