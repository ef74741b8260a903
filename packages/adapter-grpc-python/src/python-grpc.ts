import type { PythonAdapter } from "@snakepit/adapter-python";
import {
	FRAMED,
	pythonAdapter,
	type Transport,
} from "@snakepit/adapter-python/transport";
import { checkOptions } from "@snakepit/core/options";
import {
	DEFAULTS,
	PYTHON_GRPC_CHECKS,
	type PythonGrpcOptions,
} from "./options.ts";

/** What `pythonGrpc` returns. */
export type PythonGrpcAdapter = PythonAdapter;

/** gRPC is large: a program whose workers do not use it does not load it. */
export const GRPC: Transport = {
	name: "grpc",
	extra: "grpc",
	load: async () => (await import("./channel/grpc-channel.ts")).openGrpcChannel,
	remedy:
		' Install @grpc/grpc-js where the program runs. esbuild cannot put it into an ES module bundle, because it is CommonJS and requires modules of Node: keep it outside with external: ["@grpc/grpc-js"], or use transport: "framed", which needs no gRPC.',
};

/**
 * An adapter whose workers are Python processes that run the tools of one module and speak gRPC by default, which
 * health probes and clients in other languages understand.
 *
 * @throws OptionsError
 */
export function pythonGrpc(options: PythonGrpcOptions): PythonGrpcAdapter {
	checkOptions("pythonGrpc", options, PYTHON_GRPC_CHECKS);
	const { transport = DEFAULTS.transport, ...rest } = options;
	return pythonAdapter(rest, {
		name: "grpc-python",
		maker: "pythonGrpc",
		transport: transport === "grpc" ? GRPC : FRAMED,
	});
}
