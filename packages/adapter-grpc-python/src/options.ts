import {
	DEFAULTS as PYTHON_DEFAULTS,
	type PythonOptions,
} from "@snakepit/adapter-python";
import { PYTHON_CHECKS } from "@snakepit/adapter-python/transport";
import { type Check, oneOf, optional } from "@snakepit/core/options";

/** How frames travel between this program and its workers. */
export type Transport = "grpc" | "framed";

/** Python workers over gRPC: the options of `python()`, and the transport. */
export interface PythonGrpcOptions extends PythonOptions {
	/**
	 * How frames travel on the worker's private socket: `"grpc"`, for health probes and clients in other languages, or
	 * `"framed"`, the same frames without gRPC, faster and lighter.
	 * @default "grpc"
	 */
	readonly transport?: Transport | undefined;
}

/** What is not given. */
export const DEFAULTS: typeof PYTHON_DEFAULTS & {
	readonly transport: Transport;
} = {
	...PYTHON_DEFAULTS,
	/** Health probes and clients in other languages use it. */
	transport: "grpc",
};

export const PYTHON_GRPC_CHECKS: Readonly<
	Record<keyof PythonGrpcOptions, Check>
> = {
	...PYTHON_CHECKS,
	transport: optional(oneOf("grpc", "framed")),
};
