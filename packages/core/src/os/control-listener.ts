import { existsSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { RECORD_NAME, SOCKET_NAME } from "@snakepit/control/server";
import { listenAt } from "./private-socket.ts";
import { removePath } from "./remove-path.ts";

// The names are those that clients look for; the code that has them is loaded by the first connection.
const socketName: typeof SOCKET_NAME = "control.sock";
const recordName: typeof RECORD_NAME = "control.json";
/** More clients at once are refused: they must not use up our descriptors. */
const MAX_CONNECTIONS = 16;

/** Where clients of a run connect. */
export interface ControlListener {
	/** Whether clients that look in this directory find it. */
	isFound(directory: string): boolean;
	/** Takes no more connections, and can be found no more. */
	close(): void;
}

/**
 * Listens in a run's private directory for clients that look at the run. Keeps no program open.
 *
 * @param record what a client needs to know, its secret included: written beside the socket, for this user only.
 * @throws StartError `SOCKET_PATH_TOO_LONG`, `OUT_OF_DESCRIPTORS` or `RUNTIME_DIRECTORY_UNWRITABLE`, or what the system
 *   says when the file cannot be written.
 */
export async function listenForControl(
	directory: string,
	record: object,
	accept: (socket: Socket) => void,
): Promise<ControlListener> {
	const server = createServer((socket) => accept(socket.unref()));
	server.maxConnections = MAX_CONNECTIONS;
	server.unref();
	await listenAt(server, join(directory, socketName));
	server.on("error", () => {}); // Out of descriptors at an accept: that client has to try again.
	try {
		writeFileSync(join(directory, recordName), JSON.stringify(record), {
			mode: 0o600,
			flag: "wx",
		});
	} catch (error) {
		server.close();
		throw error;
	}
	return {
		isFound: (now) =>
			now === directory &&
			[socketName, recordName].every((name) => existsSync(join(now, name))),
		close: () => {
			server.close();
			removePath(join(directory, recordName));
		},
	};
}
