import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/os/system-clock.ts";
import { ReadOutput, readLines } from "../../src/process/output.ts";
import { shakeHands } from "../../src/worker/control-channel.ts";

/**
 * A connection on which the other side has sent nothing and ended. Nobody reads it: Node emits "end" all the same,
 * for instance where a worker closes its output before the guard has reported that it runs.
 */
async function endedConnection(): Promise<Socket> {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-ended-"));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	const path = join(directory, "socket");
	const server = createServer((other) => other.end());
	onTestFinished(() => void server.close());
	server.listen(path);
	await once(server, "listening");
	const socket = connect({ path, allowHalfOpen: true });
	onTestFinished(() => void socket.destroy());
	await once(socket, "end");
	return socket;
}

test("the end of an output that ended before anyone looked is noticed", async () => {
	const output = new ReadOutput(await endedConnection(), systemClock);
	await output.ended;
	expect(output.hasEnded).toBe(true);
});

test("the lines of an output that ended before anyone looked are over", async () => {
	const lines: unknown[] = [];
	const socket = await endedConnection();
	await new Promise<void>((resolve) =>
		readLines(socket, 100, (line) => lines.push(line), resolve, systemClock),
	);
	expect(lines).toEqual([]);
});

test("a control channel that was closed before the launch message fails the start", async () => {
	await expect(
		shakeHands(await endedConnection(), "p-0", "launch"),
	).rejects.toMatchObject({ code: "WORKER_EXITED_EARLY", ran: "no" });
});
