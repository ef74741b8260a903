import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import { createPool } from "../../src/index.ts";
import { EventRecorder } from "../../src/testing.ts";

/** Answers each connection with its pid and the number of the descriptor that it came to. */
const SERVES = `
	const { createServer } = require("node:net");
	for (const fd of [3, 6])
		createServer((socket) => socket.end(process.pid + " " + fd)).listen({ fd });
`;

/** A program that serves at two sockets that listen before it begins; a command is the number of one. */
const SERVER: Adapter = {
	name: "server",
	launch: () => ({
		executable: process.execPath,
		args: ["-e", SERVES],
		descriptors: [
			{ fd: 3, kind: "unix-listener" },
			{ fd: 6, kind: "tcp-listener" },
		],
	}),
	connect: async ({ listener }) => ({
		execute: async (command) => await text(connect(listener(Number(command)))),
		[Symbol.asyncDispose]: async () => {},
	}),
};

test("workers below a guard accept on the listeners that they were given, and new ones after their guard is lost", async () => {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
	onTestFinished(() => rmSync(dataDir, { recursive: true }));
	const events = new EventRecorder();
	await using pool = await createPool({
		adapter: SERVER,
		size: 1,
		dataDir,
		guard: "required",
		onEvent: events.record,
	});
	const pids = new Set<number | undefined>();
	for (const restarts of [0, 1]) {
		await events.waitFor(
			"protection.started",
			(event) => event.restarts === restarts,
		);
		const [one, other] = [
			await pool.execute("3", undefined),
			await pool.execute("6", undefined),
		];
		const { pid, source } = events.of("worker.spawned").at(-1) ?? {};
		expect({ one, other, source }).toEqual({
			one: `${pid} 3`,
			other: `${pid} 6`,
			source: "guard",
		});
		pids.add(pid);
		const { pid: chain = 0 } = events.of("protection.started").at(-1) ?? {};
		if (restarts === 0) process.kill(chain, "SIGKILL");
	}
	expect(pids.size).toBe(2);
});
