import { StartError } from "@snakepit/core";
import type { Transport } from "../options.ts";
import type { openFramedChannel } from "./framed-channel.ts";
import type { openGrpcChannel } from "./grpc-channel.ts";

export type OpenChannel = typeof openGrpcChannel | typeof openFramedChannel;

/** gRPC is large: a program whose workers do without does not load it. */
const LOADERS: Readonly<Record<Transport, () => Promise<OpenChannel>>> = {
	grpc: async () => (await import("./grpc-channel.ts")).openGrpcChannel,
	framed: async () => (await import("./framed-channel.ts")).openFramedChannel,
};

/**
 * Loads what a conversation by this transport needs.
 *
 * @throws StartError `CONNECT_FAILED` when it does not load.
 */
export async function loadTransport(
	transport: Transport,
): Promise<OpenChannel> {
	try {
		return await LOADERS[transport]();
	} catch (cause) {
		const reason = cause instanceof Error ? cause.message : String(cause);
		throw new StartError({
			code: "CONNECT_FAILED",
			ran: "no",
			message: `pythonGrpc: what transport: "${transport}" needs does not load (${reason.replace(/\n.*/s, "")}).${REMEDIES[transport]}`,
			cause,
		});
	}
}

const REMEDIES: Readonly<Record<Transport, string>> = {
	grpc: ' Install @grpc/grpc-js where the program runs. It is CommonJS and asks for modules of Node: in a bundle that is an ES module, esbuild cannot contain it. Keep it outside then, external: ["@grpc/grpc-js"], or take transport: "framed", which does without gRPC.',
	framed: "",
};
