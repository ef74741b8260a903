import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ControlClock } from "../src/controlled-run.ts";
import { IDLE_MS } from "../src/limits.ts";
import {
	clientOf,
	clock,
	poolSnapshot,
	serve,
	TOKEN,
	workerSnapshot,
} from "./fake-run.ts";

const head = `Host: run\r\nAuthorization: Bearer ${TOKEN}\r\n`;

test("a connection whose second request arrived before the first answer is not idle after that answer", async () => {
	const idle = new Set<object>();
	const noted: ControlClock = {
		...clock,
		after: (ms, action) => {
			if (ms !== IDLE_MS) return clock.after(ms, action);
			const timer = {};
			idle.add(timer);
			return { cancel: () => void idle.delete(timer) };
		},
	};
	const { socketPath, run } = await serve(["read", "call"], noted);
	const called = Promise.withResolvers<void>();
	const finish = Promise.withResolvers<string>();
	run.controlled = {
		...run.controlled,
		call: async () => {
			called.resolve();
			return await finish.promise;
		},
	};
	const socket = connect(socketPath);
	onTestFinished(() => void socket.destroy());
	const body = '{"command":"wait"}';
	socket.write(
		`GET /v1/state HTTP/1.1\r\n${head}\r\nPOST /v1/pools/demo/call HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`,
	);
	await Promise.all([once(socket, "data"), called.promise]);
	await new Promise(setImmediate);
	expect(idle.size).toBe(0);
	const answered = once(socket, "data");
	finish.resolve("done");
	await answered;
	while (idle.size === 0) await new Promise(setImmediate);
	expect(idle.size).toBe(1);
});

const circular: { self?: unknown } = {};
circular.self = circular;

test("a tool whose schema is circular is an error for the client, and not for the program", async () => {
	const rejected: unknown[] = [];
	const note = (error: unknown) => void rejected.push(error);
	process.on("unhandledRejection", note);
	onTestFinished(() => void process.off("unhandledRejection", note));
	const served = await serve();
	served.run.controlled = {
		...served.run.controlled,
		tools: async () => [{ name: "odd", schema: circular }] as never,
	};
	using client = clientOf(served);
	await expect(client.tools("demo")).rejects.toMatchObject({
		code: "ANSWER_NOT_JSON",
		message: expect.stringContaining("circular"),
	});
	expect(rejected).toEqual([]);
});

test("facts of a worker that JSON cannot carry are shown as text", async () => {
	const served = await serve();
	const workers = [
		workerSnapshot({ facts: { big: 10n ** 20n, ring: circular } as never }),
	];
	served.run.pools = [poolSnapshot({ workers })];
	using client = clientOf(served);
	const { run } = await client.state();
	expect(run.pools[0]?.workers[0]?.facts).toMatchObject({
		big: "100000000000000000000",
	});
	const events = client.events();
	expect((await events.next()).value).toMatchObject({ kind: "state" });
	await events.return();
});

test("a program that is stopped in the middle of an answer is silent", async () => {
	const directory = mkdtempSync(join(tmpdir(), "control-"));
	const listener = createServer((socket) => {
		socket.on("error", () => {});
		socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
	});
	const socketPath = join(directory, "control.sock");
	listener.listen(socketPath);
	await once(listener, "listening");
	onTestFinished(() => {
		listener.close();
		rmSync(directory, { recursive: true });
	});
	using client = clientOf({ socketPath }, TOKEN, 200);
	await expect(client.state()).rejects.toMatchObject({ code: "HOST_SILENT" });
	await expect(client.act("demo", "pause")).rejects.toMatchObject({
		code: "HOST_SILENT",
	});
});
