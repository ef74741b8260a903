import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ForkLine } from "../../src/os/fork/fork-line.ts";
import { FakeProcessHost } from "../../src/testing/fake-process-host.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { PLAIN } from "../guard/bench.ts";

test("a process that does not answer a start within a minute has to be ended, and the start fails", async () => {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-fork-"));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	const socketPath = join(directory, "silent");
	const silent = createServer().listen(socketPath);
	onTestFinished(() => void silent.close());
	await once(silent, "listening");
	const connection = connect(socketPath);
	await once(connection, "connect");
	const clock = new VirtualClock();
	const ends: string[] = [];
	const line = new ForkLine({
		connection,
		socketPath,
		source: "guard",
		highestDescriptor: 6,
		host: new FakeProcessHost({ clock }),
		clock,
		lost: () => ends.push("lost"),
		broken: () => ends.push("broken"),
	});
	const start = line.fork({ ...PLAIN, executable: "true" }, () => {});
	const failed = expect(start).rejects.toMatchObject({
		code: "SPAWN_FAILED",
		ran: "no",
		message: expect.stringContaining(
			"the guard did not start a process within 60 s",
		),
	});
	await clock.advance(59_999);
	expect(ends).toEqual([]);
	await clock.advance(1);
	expect(ends).toEqual(["lost", "broken"]);
	await failed;
});
