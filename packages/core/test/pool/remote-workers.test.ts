import { expect, test } from "vitest";
import type { RemoteUsage } from "../../src/contract/connection.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import { type VirtualPool, virtualPoolOver } from "./virtual-pool.ts";

const LOCATION = { name: "rack-7", address: "10.0.0.7" };

/** A pool whose workers run on another machine: the processes here do nothing and use nothing. */
function remotePool(
	usage: () => RemoteUsage | undefined,
	options: Omit<PoolOptions, "adapter">,
): Promise<VirtualPool> {
	return virtualPoolOver(
		() => ({ location: LOCATION, usage }),
		{ commands: { echo: (args) => args }, ping: () => new Promise(() => {}) },
		options,
	);
}

test("the location of a worker is in its view, in the event of its start and in the ledger", async () => {
	const { pool, registry, events, close } = await remotePool(
		() => undefined,
		{},
	);
	expect(pool.workers()).toMatchObject([{ location: LOCATION }]);
	expect(events.of("worker.ready")).toMatchObject([{ location: LOCATION }]);
	await close();
	expect(registry.list()).toMatchObject([
		{ location: LOCATION, status: "ended" },
	]);
});

test("it is recycled by the memory that it uses there", async () => {
	let residentBytes = 0;
	const { clock, events } = await remotePool(
		() => ({ cpuTimeMs: 0, residentBytes }),
		{ recycle: { aboveResidentBytes: 1_000 } },
	);
	await clock.advance(10_000);
	expect(events.of("worker.retiring")).toEqual([]);
	residentBytes = 1_001;
	await clock.advance(10_000);
	expect(events.of("worker.retiring")[0]).toMatchObject({
		reason: "resident_memory",
	});
});

test("memory that cannot be measured now is measured at the next look", async () => {
	let isReadable = false;
	const { clock, events } = await remotePool(
		() => {
			if (!isReadable) throw new Error("EMFILE: too many open files");
			return { cpuTimeMs: 0, residentBytes: 1_001 };
		},
		{ recycle: { aboveResidentBytes: 1_000 } },
	);
	await clock.advance(10_000);
	expect(events.of("worker.retiring")).toEqual([]);
	isReadable = true;
	await clock.advance(10_000);
	expect(events.of("worker.retiring")[0]).toMatchObject({
		reason: "resident_memory",
	});
});

test("one that does not answer is busy while it works there, and hung when it does nothing", async () => {
	let cpuTimeMs = 0;
	const { clock, events } = await remotePool(
		() => ({ cpuTimeMs, residentBytes: 0 }),
		{ heartbeat: {} },
	);
	for (let second = 0; second < 60; second++) {
		cpuTimeMs += 900;
		await clock.advance(1_000);
	}
	expect(events.of("heartbeat.busy")).toHaveLength(1);
	expect(events.of("heartbeat.hung")).toEqual([]);
	await clock.advance(15_000);
	expect(events.of("heartbeat.hung")[0]).toMatchObject({ cause: "idle" });
});
