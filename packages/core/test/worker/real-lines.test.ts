import { expect, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { Connection } from "../../src/contract/connection.ts";
import { startForReal } from "../../src/testing.ts";

const connection: Connection = {
	execute: async () => null,
	[Symbol.asyncDispose]: async () => {},
};

/** A program that prints where it listens, and then lives until it is stopped. */
const listening = (
	connect: Adapter["connect"],
	stdio: "pool" | "adapter" = "pool",
): Adapter => ({
	name: "listening",
	launch: () => ({
		executable: process.execPath,
		args: [
			"--eval",
			"console.error('starting'); console.error('listening on', 40 + 2); setInterval(() => {}, 1000)",
		],
		stdio,
	}),
	connect,
});

test("an adapter reads from the output of its program where it listens", async () => {
	let port: string | undefined;
	const adapter = listening(async (worker, signal) => {
		[, port] = await worker.line(/^listening on (\d+)$/, "stderr", signal);
		return connection;
	});
	const worker = await startForReal(adapter);
	await worker.stop();
	expect(port).toBe("42");
});

test("standard output that is the conversation has no lines to wait for", async () => {
	const adapter = listening(async (worker, signal) => {
		await worker.line(/x/, "stdout", signal);
		return connection;
	}, "adapter");
	await expect(startForReal(adapter)).rejects.toThrow(
		"the adapter reads standard output itself",
	);
});
