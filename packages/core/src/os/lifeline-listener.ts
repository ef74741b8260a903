import { chmodSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { StartError } from "../errors.ts";
import type { LifelineListener } from "../world.ts";
import { SOCKET_PATH_LIMIT } from "./private-directory.ts";
import { outOfDescriptors, unwritableRemedy } from "./system-refusal.ts";

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
	if (Buffer.byteLength(path) >= SOCKET_PATH_LIMIT)
		throw new StartError({
			code: "SOCKET_PATH_TOO_LONG",
			ran: "no",
			message: `The socket path ${path} has ${Buffer.byteLength(path)} bytes; the system takes at most ${SOCKET_PATH_LIMIT - 1}. Set XDG_RUNTIME_DIR to a short path.`,
		});
	const held = new Set<Socket>();
	const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
	server.maxConnections = MAX_CONNECTIONS;
	server.on("connection", (socket) => {
		held.add(socket.unref());
		socket.on("error", () => {}); // Its worker is gone; nothing here waits for it.
		socket.on("close", () => held.delete(socket));
	});
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	server.once("error", reject);
	server.listen(path, resolve);
	try {
		await promise;
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		throw new StartError({
			code: outOfDescriptors(error)
				? "OUT_OF_DESCRIPTORS"
				: "RUNTIME_DIRECTORY_UNWRITABLE",
			ran: "no",
			message: `Cannot listen on ${path}: ${message}. ${unwritableRemedy(code) || "Set XDG_RUNTIME_DIR to a directory on a local disk that belongs to you."}`,
			cause: error,
		});
	}
	// Its directory is private already; it does not depend on that alone.
	chmodSync(path, 0o600);
	server.off("error", reject);
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
