import { describe, expect, test } from "vitest";
import type { FakeProcess } from "../../src/testing/fake-process.ts";
import { neverConnects } from "../../src/testing/scripted-adapter.ts";
import type { Worker } from "../../src/worker/worker.ts";
import { type WorkerBench, workerBench } from "./worker-bench.ts";

const speaksControl = { launchPayload: {} };
const closing = {
	code: "START_WITHDRAWN",
	ran: "no",
	message: expect.stringContaining(
		"was stopped before it was ready, because its pool is closing",
	),
};
/** Both ways in which a pool that closes stops a worker. */
const manners: readonly [string, (worker: Worker) => void][] = [
	["gently", (worker) => worker.retire("closed")],
	["by force", (worker) => worker.condemn("closed", "its pool is closed")],
];

describe.each(manners)("stopped %s", (_manner, stop) => {
	test("before its start began, a worker starts nothing", async () => {
		const bench = workerBench();
		const worker = bench.addWorker();
		stop(worker);
		expect(await bench.clock.advanceUntil(bench.start(worker))).toMatchObject(
			closing,
		);
		expect(bench.host.started).toEqual([]);
		expect(bench.registry.list()).toEqual([]);
		worker.neverSpawned();
		await worker.gone;
		expect(worker.state).toBe("exited");
	});

	test("while it waits for its turn, a worker starts nothing", async () => {
		const bench = workerBench(
			{ connect: neverConnects },
			{},
			{ startsAtOnce: 1 },
		);
		const first = bench.addWorker();
		const second = bench.addWorker();
		const outcomes = [bench.start(first), bench.start(second)];
		await bench.clock.settle();
		stop(second);
		stop(first);
		expect(await bench.clock.advanceUntil(Promise.all(outcomes))).toMatchObject(
			[closing, closing],
		);
		expect(bench.host.started).toHaveLength(1);
		await bench.clock.advanceUntil(first.gone);
		expect(bench.leftovers()).toEqual([]);
	});

	test("while its lifeline is opened, a worker starts nothing and leaves nothing", async () => {
		const opening = Promise.withResolvers<void>();
		const bench = workerBench(
			speaksControl,
			{},
			{
				world: (world) => ({
					...world,
					host: new Proxy(world.host, {
						get: (host, name) =>
							name === "listenLifeline"
								? async (path: string) => {
										await opening.promise;
										return await host.listenLifeline(path);
									}
								: Reflect.get(host, name, host),
					}),
				}),
			},
		);
		const worker = bench.addWorker();
		const started = bench.start(worker);
		await bench.clock.settle();
		stop(worker);
		opening.resolve();
		expect(await bench.clock.advanceUntil(started)).toMatchObject(closing);
		expect(bench.host.started).toEqual([]);
		expect(bench.leftovers()).toEqual([]);
		expect(bench.registry.list()).toMatchObject([
			{ status: "ended", end: { reason: "closed" }, startError: undefined },
		]);
	});

	test("while it is spawned, a worker is ended as soon as there is a process", async () => {
		const bench = workerBench(speaksControl);
		const spawn = bench.host.holdSpawns();
		const worker = bench.addWorker();
		const started = bench.start(worker);
		await bench.clock.settle();
		stop(worker);
		spawn();
		await endsInOrder(bench, worker, started);
	});

	test("while its program is getting ready, a worker is ended", async () => {
		const bench = workerBench({
			...speaksControl,
			boot: (process) => process.idle(),
		});
		const worker = bench.addWorker();
		const started = bench.start(worker);
		await bench.clock.settle();
		stop(worker);
		await endsInOrder(bench, worker, started);
	});

	test("while its adapter connects, a worker is ended and the adapter is notified", async () => {
		let passed: AbortSignal | undefined;
		const bench = workerBench({
			connect: (_worker, signal) => {
				passed = signal;
				return neverConnects();
			},
		});
		const worker = bench.addWorker();
		const started = bench.start(worker);
		await bench.clock.settle();
		stop(worker);
		await endsInOrder(bench, worker, started);
		expect(passed?.aborted).toBe(true);
	});

	test("a worker that becomes ready before it is dead offers nothing, and its connection is closed", async () => {
		const connect = Promise.withResolvers<void>();
		const bench = workerBench({
			connect: (worker) => {
				worker.process.endDelayMs = 50;
				return connect.promise;
			},
		});
		const worker = bench.addWorker();
		const started = bench.start(worker);
		await bench.clock.settle();
		stop(worker);
		connect.resolve();
		await endsInOrder(bench, worker, started);
		expect(bench.adapter.workers[0]?.broken).toBeDefined();
		expect(worker.heartbeat).toBeUndefined();
	});
});

async function endsInOrder(
	bench: WorkerBench,
	worker: Worker,
	started: Promise<unknown>,
): Promise<void> {
	expect(await bench.clock.advanceUntil(started)).toMatchObject(closing);
	await bench.clock.advanceUntil(worker.gone);
	const process = bench.host.started[0] as FakeProcess;
	expect(process.received).toEqual(["SIGKILL"]);
	expect(bench.events.of("worker.exited")).toMatchObject([
		{ reason: "closed", killer: "stop_ladder" },
	]);
	expect(bench.events.of("worker.ready")).toEqual([]);
	expect(bench.reported).toEqual(["released"]);
	expect(bench.leftovers()).toEqual([]);
	expect(bench.clock.pending()).toBe(0);
}
