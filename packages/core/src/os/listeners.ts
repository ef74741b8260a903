import { once } from "node:events";
import { chmodSync, existsSync, renameSync, writeFileSync } from "node:fs";
import {
	type AddressInfo,
	createServer,
	type Server,
	type Socket,
} from "node:net";
import { join } from "node:path";
import type { RECORD_NAME, SOCKET_NAME } from "@snakepit/control/server";
import { StartError } from "../contract/errors.ts";
import type { BoundListener, LifelineListener } from "../contract/world.ts";
import { removePath, SOCKET_PATH_LIMIT } from "./private-directory.ts";
import {
	DESCRIPTORS_REMEDY,
	outOfDescriptors,
	unwritableRemedy,
} from "./spawn-failure.ts";

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
		message: `This runtime (${process.version}) does not expose a server's descriptor, so programs cannot be given a listener. Use Node.`,
	});
}

/** A worker needs two; one that takes more and more must not use up our descriptors. */
const MAX_LIFELINES = 8;

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
	server.maxConnections = MAX_LIFELINES;
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

// The names are those that clients look for; the code that has them is loaded by the first connection.
const socketName: typeof SOCKET_NAME = "control.sock";
const recordName: typeof RECORD_NAME = "control.json";
/** More concurrent clients are refused: they must not use up our descriptors. */
const MAX_CONTROL_CLIENTS = 16;

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
	server.maxConnections = MAX_CONTROL_CLIENTS;
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

/**
 * Listens at a path, for this user only.
 *
 * @throws StartError `SOCKET_PATH_TOO_LONG`; `OUT_OF_DESCRIPTORS`, or
 *   `RUNTIME_DIRECTORY_UNWRITABLE` when the system refuses to listen there.
 */
async function listenAt(server: Server, path: string): Promise<void> {
	if (Buffer.byteLength(path) >= SOCKET_PATH_LIMIT)
		throw new StartError({
			code: "SOCKET_PATH_TOO_LONG",
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
			message: `Cannot listen on ${path}: ${message}. ${unwritableRemedy(code) || "Set XDG_RUNTIME_DIR to a directory on a local disk that belongs to you."}`,
			cause: error,
		});
	}
	// Its directory is private already; it does not depend on that alone.
	chmodSync(path, 0o600);
}
