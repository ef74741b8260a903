import { once } from "node:events";
import { renameSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { StartError } from "../contract/errors.ts";
import type { BoundListener } from "../contract/world.ts";
import { listenAt } from "./private-socket.ts";
import { DESCRIPTORS_REMEDY, outOfDescriptors } from "./system-refusal.ts";

const LOOPBACK = "127.0.0.1";

/**
 * Makes a socket that listens, to be given to a program: at a path, or without one at a free port of 127.0.0.1.
 *
 * @throws StartError `SOCKET_PATH_TOO_LONG`, `OUT_OF_DESCRIPTORS`, or `RUNTIME_DIRECTORY_UNWRITABLE`.
 */
export async function bindListener(path?: string): Promise<BoundListener> {
	// The address is not known yet: a client that connects before the program has it is guessing.
	const server = createServer((socket) => socket.destroy());
	if (path === undefined) await listenOnLoopback(server);
	else await listenAt(server, path);
	server.on("error", () => {});
	server.unref();
	return {
		address:
			path === undefined
				? { host: LOOPBACK, port: (server.address() as AddressInfo).port }
				: { path },
		fd: descriptorOf(server),
		close: () => {
			if (!server.listening) return;
			if (path === undefined) server.close();
			else closeCopy(server, path);
		},
	};
}

async function listenOnLoopback(server: Server): Promise<void> {
	try {
		const address = { port: 0, host: LOOPBACK, exclusive: true };
		await once(server.listen(address), "listening");
	} catch (error) {
		const remedy = outOfDescriptors(error) ? DESCRIPTORS_REMEDY : "";
		throw new StartError({
			code: remedy === "" ? "SPAWN_FAILED" : "OUT_OF_DESCRIPTORS",
			ran: "no",
			message: `Cannot listen on ${LOOPBACK}: ${(error as Error).message}. ${remedy}`,
			cause: error,
		});
	}
}

/** libuv removes the path of a listener that it closes. The program listens there: the path is elsewhere meanwhile. */
function closeCopy(server: Server, path: string): void {
	const aside = `${path}~`;
	const isAside = hasMoved(path, aside);
	server.close();
	if (isAside) hasMoved(aside, path);
}

function hasMoved(from: string, to: string): boolean {
	try {
		renameSync(from, to);
		return true;
	} catch {
		return false; // It was removed: no client can find the program there.
	}
}

/** `listen` of Node itself takes what has a `_handle` with an `fd` for a server. */
function descriptorOf(server: Server): number {
	const { _handle } = server as Server & {
		readonly _handle?: { readonly fd?: unknown };
	};
	const fd = _handle?.fd;
	if (typeof fd === "number" && fd >= 0) return fd;
	throw new StartError({
		code: "DESCRIPTORS_UNSUPPORTED",
		ran: "no",
		message: `This runtime (${process.version}) does not expose a server's descriptor, so programs cannot be given a listener. Use Node.`,
	});
}
