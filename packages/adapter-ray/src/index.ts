export {
	type ConnectionOptions,
	DEFAULTS,
	type Placement,
	type RayPythonOptions,
	type ResourceOptions,
	type TlsOptions,
} from "./options.ts";
export { type RayPythonAdapter, rayPython } from "./ray-python.ts";
export type { RayStartError, RayStartErrorCode } from "./start-error-codes.ts";
