import { expect, test } from "vitest";
import { resolveOptions } from "../../src/options/resolve-pool-options.ts";
import type { FakeProgram } from "../../src/testing/fake-process.ts";
import { scriptedAdapter } from "../../src/testing/scripted-adapter.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import {
	PoolProcess,
	type PoolProcessDependencies,
	poolProcessSlot,
} from "../../src/worker/pool-process.ts";

/** One that gets ready, and does nothing more. */
const serves: FakeProgram = async (process) => {
	process.control?.write(`${JSON.stringify({ ready: {} })}\n`);
	await process.idle();
};

function scene(program: FakeProgram) {
	const virtual = virtualWorld();
	virtual.host.install("companion", program);
	const setting: PoolProcessDependencies = {
		options: resolveOptions(
			{ adapter: scriptedAdapter({}), start: { timeoutMs: 1_000 } },
			2,
		),
		world: virtual.world,
		runDirectory: "/run",
		...{ marker: "the-marker", environment: {} },
	};
	const slot = poolProcessSlot(setting, "companion");
	const start = () =>
		PoolProcess.start(
			...([setting, slot] as const),
			{ executable: "companion", launchPayload: {} },
			"companion",
			new AbortController().signal,
		);
	return { ...virtual, start };
}

test("a start does not wait for a process that cannot die: it keeps its row", async () => {
	const { start, clock, host, registry } = scene((process) => process.idle());
	const refused = expect(start()).rejects.toMatchObject({
		code: "START_TIMEOUT",
	});
	await clock.advance(1);
	for (const process of host.started) process.killable = false;
	await clock.advance(60_000);
	await refused;
	expect(registry.living()).toMatchObject([{ status: "active" }]);
});

test("a release does not wait for a process that cannot die: it keeps its row, also when it dies later", async () => {
	const { start, clock, host, registry } = scene(serves);
	const own = await clock.advanceUntil(start());
	const ended = own.whenEnded(() => {});
	const [process] = host.started;
	if (process === undefined) return expect.unreachable();
	process.killable = false;
	const begunMs = clock.now();
	const released = own.release(() => {}, 1_000, ended);
	await clock.advanceUntil(released);
	expect(clock.now() - begunMs).toBe(6_000);
	expect(process.received).toEqual(["SIGKILL"]);
	process.exit(0);
	await ended;
	expect(registry.living()).toMatchObject([{ status: "active" }]);
});

test("a release ends when nothing of the process is left", async () => {
	const { start, clock, host, registry } = scene(serves);
	const own = await clock.advanceUntil(start());
	const ended = own.whenEnded(() => {});
	const begunMs = clock.now();
	await clock.advanceUntil(own.release(() => {}, 1_000, ended));
	expect(clock.now() - begunMs).toBe(1_000);
	expect(host.living()).toEqual([]);
	expect(registry.living()).toEqual([]);
});

test("one that does not become ready is killed with its group, recorded, and its last lines are in the error", async () => {
	const { start, clock, host, registry, events } = scene(async (process) => {
		process.fork((child) => child.idle());
		process.output.stderr.write("no model\n");
		await process.idle();
	});
	const refused = expect(start()).rejects.toMatchObject({
		code: "START_TIMEOUT",
		message: expect.stringMatching(
			/^The companion \S+ was not ready within 1000 ms \(start\.timeoutMs\)\.\nIts last lines:\n {2}\| no model$/,
		),
	});
	await clock.advance(60_000);
	await refused;
	expect(host.living()).toEqual([]);
	expect(registry.list()).toMatchObject([
		{
			status: "ended",
			end: {
				exit: { kind: "signal", signal: "SIGKILL" },
				...{ reason: "start_failed", killer: "stop_ladder" },
			},
		},
	]);
	const pool = "scripted";
	expect(events.of("worker.output")).toMatchObject([
		{ pool, workerId: `${pool}-companion`, line: "no model" },
	]);
});

test("one that ends by itself in its start was killed by nobody", async () => {
	const { start, clock, registry } = scene((process) => process.exit(3));
	const refused = expect(start()).rejects.toMatchObject({ ran: "no" });
	await clock.advance(60_000);
	await refused;
	expect(registry.list()).toMatchObject([
		{
			end: {
				exit: { kind: "code", code: 3 },
				...{ reason: "start_failed", killer: "none" },
			},
		},
	]);
});
