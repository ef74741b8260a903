import { AsyncResource } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import type { CallOptions } from "../../src/contract/connection.ts";
import {
	connectFails,
	neverConnects,
	type ScriptedAdapterOptions,
	scriptedAdapter,
	scripts,
	startWorker,
	streamPair,
	virtualWorld,
} from "../../src/testing.ts";

const options: CallOptions = {
	callId: "c-1",
	signal: new AbortController().signal,
	timeoutMs: undefined,
	sessionId: undefined,
	input: undefined,
	context: new AsyncResource("test"),
	traceContext: {},
};

function start(script: ScriptedAdapterOptions) {
	const adapter = scriptedAdapter({ commands: scripts, ...script });
	const virtual = virtualWorld({ adapters: [adapter] });
	const starting = startWorker(adapter, {
		world: virtual.world,
		directory: "/run/s",
	});
	return { adapter, starting, ...virtual };
}

describe("a scripted adapter", () => {
	test("starts a worker that is recorded, reported and gone when it is stopped", async () => {
		const { starting, events, host, registry } = start({});
		const worker = await starting;
		expect(registry.living()).toMatchObject([
			{ status: "active", identity: host.started[0]?.identity },
		]);
		expect(await worker.connection.execute("whoami", undefined, options)).toBe(
			`${registry.runId}-1`,
		);
		await worker.stop();
		expect(host.living()).toEqual([]);
		expect([...host.machine.paths]).toEqual([]);
		expect(registry.living()).toEqual([]);
		events.assertPaired();
	});

	test("speaks the control channel when it has a launch payload", async () => {
		const { starting, host } = start({ launchPayload: { any: 1 } });
		const worker = await starting;
		expect(worker.process.ready).toEqual({ scripted: true });
		expect(host.machine.lifelines()).toEqual(["/run/s/1/l"]);
		await worker.stop();
		expect(host.machine.lifelines()).toEqual([]);
	});

	test("its start fails, hangs or ends early as the script says", async () => {
		const fails = start({ connect: connectFails("nobody answers") });
		await expect(
			fails.clock.advanceUntil(fails.starting),
		).rejects.toMatchObject({ code: "CONNECT_FAILED" });
		const never = start({ connect: neverConnects });
		await expect(
			never.clock.advanceUntil(never.starting),
		).rejects.toMatchObject({ code: "START_TIMEOUT" });
		expect(never.clock.now()).toBe(60_000);
		const early = start({
			boot: (process) => process.exit(3),
			launchPayload: {},
		});
		await expect(early.clock.advanceUntil(early.starting)).rejects.toThrow(
			"exited with code 3",
		);
		await early.clock.settle();
		expect(early.host.living()).toEqual([]);
	});

	test("a worker counts the calls it runs", async () => {
		const { starting, adapter, clock } = start({});
		const { connection, stop } = await starting;
		const [one, two] = [
			connection.execute("work", 10, options),
			connection.execute("work", 20, options),
		];
		await clock.settle();
		expect(adapter.workers[0]).toMatchObject({ callsRunning: 2, number: 1 });
		await clock.advance(20);
		await Promise.all([one, two]);
		expect(adapter.workers[0]).toMatchObject({
			callsRunning: 0,
			mostCallsRunning: 2,
		});
		await stop();
		expect(adapter.living()).toEqual([]);
	});

	test("what a session keeps is gone when the session ends", async () => {
		const { starting, adapter } = start({});
		const { connection } = await starting;
		adapter.workers[0]?.session("s").set("key", 1);
		expect(adapter.workers[0]?.session("s").get("key")).toBe(1);
		connection.endSession?.("s");
		expect(adapter.workers[0]?.session("s").size).toBe(0);
	});

	test("a command called in the wrong shape is an InputError", async () => {
		const { connection } = await start({}).starting;
		await expect(connection.execute("count", 3, options)).rejects.toMatchObject(
			{ code: "WRONG_SHAPE" },
		);
		const items = connection.stream?.("echo", 3, options);
		await expect(items?.[Symbol.asyncIterator]().next()).rejects.toMatchObject({
			code: "WRONG_SHAPE",
		});
	});

	test("a stream relays its input", async () => {
		const { connection } = await start({}).starting;
		const items: unknown[] = [];
		for await (const item of connection.stream?.("relay", undefined, {
			...options,
			input: [1, 2],
		}) ?? [])
			items.push(item);
		expect(items).toEqual([1, 2]);
	});

	test("what is left out is not offered", async () => {
		const { connection } = await start({
			ping: false,
			leave: false,
			streams: false,
		}).starting;
		expect([connection.ping, connection.leave, connection.stream]).toEqual([
			undefined,
			undefined,
			undefined,
		]);
	});
});

describe("a stream pair", () => {
	test("a writer waits while nothing is read", async () => {
		const [near, far] = streamPair();
		expect(near.write(Buffer.alloc(200_000))).toBe(false);
		let flushed = false;
		near.once("drain", () => {
			flushed = true;
		});
		await new Promise((resolve) => setImmediate(resolve));
		expect(flushed).toBe(false);
		far.resume();
		await new Promise((resolve) => near.once("drain", resolve));
	});

	test("a destroyed end is end-of-file at the other, and writing to it is EPIPE", async () => {
		const [near, far] = streamPair();
		far.resume();
		far.destroy();
		near.resume();
		await new Promise((resolve) => near.once("end", resolve));
		const [other] = [streamPair()[0]];
		other.destroy();
		const failed = new Promise((resolve) => near.once("error", resolve));
		near.write("x");
		expect(await failed).toMatchObject({ code: "EPIPE" });
	});
});
