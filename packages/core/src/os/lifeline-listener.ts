import { createServer, type Socket } from "node:net";
import type { LifelineListener } from "../contract/world.ts";
import { listenAt } from "./private-socket.ts";

/** A worker needs two; one that takes more and more must not use up our descriptors. */
const MAX_CONNECTIONS = 8;

/**
 * Listens on a private socket and holds every connection without ever reading,
 * writing or half-closing: a worker dies of its end, and only of its end.
 *
 * @throws StartError `SOCKET_PATH_TOO_LONG`; `OUT_OF_DESCRIPTORS`, or
 *   `RUNTIME_DIRECTORY_UNWRITABLE` when the system refuses to listen there.
 */
export async function listenLifeline(path: string): Promise<LifelineListener> {
	const held = new Set<Socket>();
	const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
	server.maxConnections = MAX_CONNECTIONS;
	server.on("connection", (socket) => {
		held.add(socket.unref());
		socket.on("error", () => {}); // Its worker is gone; nothing here waits for it.
		socket.on("close", () => held.delete(socket));
	});
	await listenAt(server, path);
	server.on("error", () => {}); // Out of descriptors at an accept: that worker's start times out.
	server.unref();
	return {
		path,
		close(): void {
			server.close();
			for (const socket of held) socket.destroy();
		},
	};
}
