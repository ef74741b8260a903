import { StartError } from "@snakepit/core";
import type { WorkerProcess } from "@snakepit/core/adapter";
import type {
	FrameChannel,
	FrameListener,
	WorkerAddress,
} from "./channel/frame-channel.ts";
import type { Dial } from "./channel/socket-channel.ts";

/**
 * Connects to a worker and opens its one conversation.
 *
 * Rejects with the reason when the worker cannot be reached or does not take the token, and with the signal's reason
 * after an abort.
 */
export type OpenChannel = (
	address: WorkerAddress,
	listener: FrameListener,
	signal: AbortSignal,
) => Promise<FrameChannel>;

/** How frames travel on a worker's private socket. */
export interface Transport {
	/** What the bridge calls it. */
	readonly name: string;
	/** The extra of `snakepit-bridge` that it needs in Python. */
	readonly extra?: string;
	/** How many bytes of one value travel in the sideband, if there is a relay between this machine and the worker's. */
	readonly sidebandBytes?: (worker: WorkerProcess) => number;
	/** Loads its code, when the first pool of a program starts. */
	readonly load: () => Promise<OpenChannel>;
	/** What to do if it does not load. */
	readonly remedy?: string;
}

/** The name of an adapter for Python, and its transport. */
export interface AdapterKind {
	/** Name of the adapter, in events. */
	readonly name: string;
	/** The function that creates it, in messages. */
	readonly maker: string;
	readonly transport: Transport;
}

/** Frames on the socket itself. */
export const FRAMED: Transport = {
	name: "framed",
	load: async () =>
		(await import("./channel/socket-channel.ts")).openFramedChannel,
};

/** The same on another connection, for packages that build on this one. */
export function framedOver(
	how: Dial,
	more: Pick<Transport, "sidebandBytes"> = {},
): Transport {
	return {
		...more,
		name: FRAMED.name,
		load: async () => {
			const { openFramedChannel } = await import("./channel/socket-channel.ts");
			return (address, listener, signal) =>
				openFramedChannel(address, listener, signal, how);
		},
	};
}

export const PYTHON: AdapterKind = {
	name: "python",
	maker: "python",
	transport: FRAMED,
};

/**
 * Loads the code of the adapter's transport.
 *
 * @throws StartError `CONNECT_FAILED` if it does not load.
 */
export async function loadTransport({
	maker,
	transport,
}: Pick<AdapterKind, "maker" | "transport">): Promise<OpenChannel> {
	try {
		return await transport.load();
	} catch (cause) {
		const reason = cause instanceof Error ? cause.message : String(cause);
		throw new StartError({
			code: "CONNECT_FAILED",
			message: `${maker}: the packages of the transport "${transport.name}" cannot be loaded (${reason.replace(/\n.*/s, "")}).${transport.remedy ?? ""}`,
			cause,
		});
	}
}
