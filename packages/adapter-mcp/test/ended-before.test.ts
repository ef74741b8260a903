import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { WorkerTransport } from "../src/worker-transport.ts";

test("a server that had ended its output before anyone listened has closed the connection", async () => {
	const stdout = Readable.from([]);
	stdout.resume();
	await once(stdout, "end");
	const transport = new WorkerTransport({
		stdin: new PassThrough(),
		stdout,
		exited: new Promise(() => {}),
		broken: () => {},
	});
	await new Promise<void>((resolve) => {
		transport.onclose = resolve;
	});
	await expect(
		transport.send({ jsonrpc: "2.0", method: "ping", id: 1 }),
	).rejects.toThrow("no longer reads");
});
