import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { LaunchSpec, WorkerProcess } from "../../src/contract/launch.ts";
import type { BoundListener, ProcessHost } from "../../src/contract/world.ts";
import { InheritedDescriptors } from "../../src/process/owned-process.ts";
import {
	type BenchSetting,
	failedStart,
	type WorkerBench,
	workerBench,
} from "./worker-bench.ts";

const descriptors: LaunchSpec["descriptors"] = [
	{ fd: 3, kind: "stream" },
	{ fd: 4, kind: "unix-listener" },
	{ fd: 5, kind: "tcp-listener" },
];

/** Workers with these descriptors, and each process as its adapter sees it. */
function bench(setting: BenchSetting = {}): WorkerBench & {
	readonly seen: readonly WorkerProcess[];
} {
	const seen: WorkerProcess[] = [];
	const made = workerBench(
		{ launch: { descriptors } },
		{},
		{
			...setting,
			wrap: (adapter) => ({
				...adapter,
				connect: (process, signal) => {
					seen.push(process);
					return adapter.connect(process, signal);
				},
			}),
		},
	);
	return { ...made, seen };
}

describe("the descriptors of a worker", () => {
	test("are connected to its adapter, both ways, until it is gone", async () => {
		const { ready, seen, clock } = bench();
		const [worker, process] = await ready();
		const stream = seen[0]?.descriptor(3);
		const own = process.streams.get(3);
		if (stream === undefined || own === undefined) return expect.unreachable();
		stream.write("there");
		expect(String((await once(own, "data"))[0])).toBe("there");
		own.write("and back");
		expect(String((await once(stream, "data"))[0])).toBe("and back");
		worker.condemn("closed", "the test is over");
		await clock.advanceUntil(worker.gone);
		expect(stream.destroyed).toBe(true);
	});

	test("that listen have an address that the adapter knows, and no copy in this program", async () => {
		const { ready, seen, host } = bench();
		const [worker, process] = await ready();
		expect(seen[0]?.listener(4)).toEqual({
			path: join(worker.slot.directory, "4"),
		});
		expect(seen[0]?.listener(5)).toEqual({
			host: "127.0.0.1",
			port: expect.any(Number),
		});
		expect([...(process.spec.descriptors?.keys() ?? [])]).toEqual([3, 4, 5]);
		expect([...host.listeners.open]).toEqual([]);
	});

	test("are new ones in each incarnation", async () => {
		const { ready, seen } = bench();
		await ready();
		await ready();
		const [one, other] = seen;
		expect(one?.listener(5)).not.toEqual(other?.listener(5));
		expect(one?.descriptor(3)).not.toBe(other?.descriptor(3));
	});

	test("that were not asked for are a TypeError that names the number", async () => {
		const { ready, seen } = bench();
		await ready();
		for (const fd of [4, 6])
			expect(() => seen[0]?.descriptor(fd)).toThrow(
				new TypeError(
					`descriptor(${fd}): launch() asked for no stream with this number.`,
				),
			);
		for (const fd of [3, 6])
			expect(() => seen[0]?.listener(fd)).toThrow(
				new TypeError(
					`listener(${fd}): launch() asked for no listener with this number.`,
				),
			);
	});

	test("that cannot all be made leave none", async () => {
		const refusal = new Error("no port is left");
		let bound = 0;
		const bindsOne =
			(host: ProcessHost) =>
			async (path?: string): Promise<BoundListener> => {
				if (++bound > 1) throw refusal;
				return await host.bindListener(path);
			};
		const made = bench({
			world: (world) => ({
				...world,
				host: new Proxy(world.host, {
					get: (host, name) =>
						name === "bindListener"
							? bindsOne(host)
							: Reflect.get(host, name, host),
				}),
			}),
		});
		expect(await failedStart(made)).toMatchObject({
			code: "SPAWN_FAILED",
			cause: refusal,
		});
		expect(bound).toBe(2);
		expect([...made.host.listeners.open]).toEqual([]);
		expect(made.leftovers()).toEqual([]);
	});

	test("are closed when their program cannot be started", async () => {
		const made = bench();
		made.host.failSpawns();
		expect(await failedStart(made)).toMatchObject({ code: "SPAWN_FAILED" });
		expect([...made.host.listeners.open]).toEqual([]);
	});
});

test("listeners that the launcher makes are at a path in the process's directory, or at the port that it reports", async () => {
	const given = new InheritedDescriptors();
	await given.open(descriptors ?? [], "/run/7", "launcher");
	expect([...given.opened.keys()]).toEqual([3, 4, 5]);
	expect(given.address(4)).toEqual({ path: join("/run/7", "4") });
	expect(given.address(5)).toEqual({ host: "127.0.0.1", port: 0 });
	given.executed(new Map([[5, 4_711]]));
	expect(given.address(5)).toEqual({ host: "127.0.0.1", port: 4_711 });
	for (const fd of [3, 6])
		expect(() => given.address(fd)).toThrow(/asked for no listener/);
});
