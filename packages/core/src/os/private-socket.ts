import { once } from "node:events";
import { chmodSync } from "node:fs";
import type { Server } from "node:net";
import { StartError } from "../contract/errors.ts";
import { SOCKET_PATH_LIMIT } from "./private-directory.ts";
import { outOfDescriptors, unwritableRemedy } from "./system-refusal.ts";

/**
 * Listens at a path, for this user only.
 *
 * @throws StartError `SOCKET_PATH_TOO_LONG`; `OUT_OF_DESCRIPTORS`, or
 *   `RUNTIME_DIRECTORY_UNWRITABLE` when the system refuses to listen there.
 */
export async function listenAt(server: Server, path: string): Promise<void> {
	if (Buffer.byteLength(path) >= SOCKET_PATH_LIMIT)
		throw new StartError({
			code: "SOCKET_PATH_TOO_LONG",
			ran: "no",
			message: `The socket path ${path} has ${Buffer.byteLength(path)} bytes; the system takes at most ${SOCKET_PATH_LIMIT - 1}. Set XDG_RUNTIME_DIR to a short path.`,
		});
	try {
		// In a worker of node:cluster the primary would listen, and its disconnect() would wait for this server.
		await once(server.listen({ path, exclusive: true }), "listening");
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
}
