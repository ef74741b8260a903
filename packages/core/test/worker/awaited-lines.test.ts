import { expect, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { Connection } from "../../src/contract/connection.ts";
import { startForReal } from "../../src/testing.ts";
import { AwaitedLines } from "../../src/worker/worker-output.ts";

const never = new AbortController().signal;

test("the first line that fits, of the output that is named, with its groups", async () => {
	const lines = new AwaitedLines();
	const port = lines.next(/listening on (\d+)/, "stderr", never);
	lines.printed("stdout", "listening on 1");
	lines.printed("stderr", "starting");
	lines.printed("stderr", "listening on 2");
	lines.printed("stderr", "listening on 3");
	expect((await port)[1]).toBe("2");
});

test("a line of the start counts before somebody waits for it, and after the start it does not", async () => {
	const lines = new AwaitedLines();
	lines.printed("stdout", "ready 1");
	// A global expression looks from the beginning each time.
	const global = /ready (\d)/g;
	global.lastIndex = 5;
	expect((await lines.next(global, "stdout", never))[1]).toBe("1");
	lines.started();
	const later = lines.next(/ready (\d)/, "stdout", never);
	lines.printed("stdout", "ready 2");
	expect((await later)[1]).toBe("2");
});

test("it rejects when the output ends, before or after, and when the signal aborts", async () => {
	const lines = new AwaitedLines();
	const controller = new AbortController();
	const pending = [
		lines.next(/a/, "stdout", never),
		lines.next(/b/, "stderr", controller.signal),
	].map((promise) => promise.catch((error: Error) => error.message));
	lines.ended("stdout");
	controller.abort(new Error("the start took too long"));
	expect(await Promise.all(pending)).toEqual([
		"its stdout ended before a line that matches /a/",
		"the start took too long",
	]);
	await expect(lines.next(/c/, "stdout", never)).rejects.toThrow(/ended/);
	await expect(
		lines.next(/d/, "stderr", AbortSignal.abort(new Error("late"))),
	).rejects.toThrow("late");
});

test("of a start with many lines the first 200 are kept", async () => {
	const lines = new AwaitedLines();
	for (let line = 0; line < 1_000; line++)
		lines.printed("stderr", `line ${line}.`);
	expect((await lines.next(/line 199\./, "stderr", never)).index).toBe(0);
	const tooLate = lines.next(/line 200\./, "stderr", never);
	lines.ended("stderr");
	await expect(tooLate).rejects.toThrow("ended");
});

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
