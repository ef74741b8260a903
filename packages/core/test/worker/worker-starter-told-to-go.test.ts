import { expect, test } from "vitest";
import { workerBench } from "./worker-bench.ts";

const speaksControl = { launchPayload: {} };

test("a worker that was told to go before its start began starts nothing", async () => {
	const bench = workerBench();
	const worker = bench.hire();
	worker.retire("closed");
	expect(await bench.clock.advanceUntil(bench.start(worker))).toMatchObject({
		code: "WORKER_EXITED_EARLY",
		message: expect.stringContaining("its pool is closing"),
	});
	worker.neverSpawned();
	await worker.gone;
	expect(worker.state).toBe("exited");
	expect(bench.host.started).toHaveLength(0);
	expect(bench.registry.list()).toHaveLength(0);
});

test("a worker that is told to go while its lifeline is opened starts nothing, and leaves nothing", async () => {
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
	const worker = bench.hire();
	const started = bench.start(worker);
	await bench.clock.settle();
	worker.condemn("closed", "its pool is closed");
	opening.resolve();
	expect(await bench.clock.advanceUntil(started)).toMatchObject({
		code: "WORKER_EXITED_EARLY",
		message: expect.stringContaining("its pool is closing"),
	});
	expect(bench.host.started).toHaveLength(0);
	expect(bench.leftovers()).toEqual([]);
});

test("a worker that is told to go while it is spawned is ended as soon as there is a process", async () => {
	const bench = workerBench(speaksControl);
	const spawn = bench.host.holdSpawns();
	const worker = bench.hire();
	const started = bench.start(worker);
	await bench.clock.settle();
	worker.retire("closed");
	spawn();
	expect(await bench.clock.advanceUntil(started)).toMatchObject({
		code: "WORKER_EXITED_EARLY",
		message: expect.stringContaining("its pool is closing"),
	});
	await bench.clock.advanceUntil(worker.gone);
	expect(bench.host.started.map(({ received }) => received)).toEqual([
		["SIGKILL"],
	]);
	expect(bench.leftovers()).toEqual([]);
	bench.events.of("worker.exited").forEach((event) => {
		expect(event).toMatchObject({ reason: "closed", killer: "stop_ladder" });
	});
	expect(bench.heard).toEqual(["released"]);
});
