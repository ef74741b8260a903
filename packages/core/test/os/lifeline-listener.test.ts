import { once } from "node:events";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listenLifeline } from "../../src/os/listeners.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

test("a connection receives nothing, whatever it sends, until the listener closes", async () => {
	const path = join(temporaryDirectory(), "l");
	const listener = await listenLifeline(path);
	const sockets = [connect(path), connect(path)];
	await Promise.all(sockets.map((socket) => once(socket, "connect")));
	const received: string[] = [];
	for (const socket of sockets) {
		socket
			.on("data", () => received.push("data"))
			.on("end", () => received.push("end"));
		socket.write("x".repeat(100));
	}
	sockets[1]?.end(); // A half-close is not answered by one.
	// A third one is served after whatever was due for the first two.
	const third = connect(path);
	await once(third, "connect");
	expect(received).toEqual([]);
	const closed = [...sockets, third].map(
		(socket) =>
			new Promise((resolve) => {
				// What it said was never read: that is a reset.
				socket
					.on("error", () => {})
					.once("close", resolve)
					.resume();
			}),
	);
	listener.close();
	await Promise.all(closed);
	expect(existsSync(path)).toBe(false);
});

test("no other user can connect, whatever the umask is", async () => {
	const path = join(temporaryDirectory(), "l");
	const listener = await listenLifeline(path);
	expect(statSync(path).mode & 0o777).toBe(0o600);
	listener.close();
});

test("a worker that disconnects is not a failure", async () => {
	const path = join(temporaryDirectory(), "l");
	const listener = await listenLifeline(path);
	const socket = connect(path);
	await once(socket, "connect");
	socket.destroy();
	const next = connect(path);
	await once(next, "connect");
	next.destroy();
	listener.close();
	listener.close();
});

test("a path that is too long, and one that cannot be used, are clear errors", async () => {
	const directory = temporaryDirectory();
	await expect(
		listenLifeline(join(directory, "x".repeat(104))),
	).rejects.toMatchObject({
		name: "StartError",
		code: "SOCKET_PATH_TOO_LONG",
		message: expect.stringContaining("XDG_RUNTIME_DIR"),
	});
	mkdirSync(join(directory, "l"));
	await expect(listenLifeline(join(directory, "l"))).rejects.toMatchObject({
		code: "RUNTIME_DIRECTORY_UNWRITABLE",
		message: expect.stringContaining(directory),
	});
});
