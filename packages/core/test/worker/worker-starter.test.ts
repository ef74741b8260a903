import { describe, expect, test } from "vitest";
import {
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
} from "../../src/contract/identity.ts";
import type { ProcessHost, World } from "../../src/contract/world.ts";
import {
	type FakeLaunchMessage,
	readLaunchMessage,
} from "../../src/testing/scripted-adapter.ts";
import { type BenchSetting, workerBench } from "./worker-bench.ts";

/** Notes every step of a start in the order in which it is done. */
function observedStart(): { order: string[]; setting: BenchSetting } {
	const order: string[] = [];
	const note = (step: string): void => void order.push(step);
	const observe = (world: World): World => {
		const registry = new Proxy(world.registry, {
			get: (target, name) => {
				const value = Reflect.get(target, name, target);
				if (!["reserve", "activate", "end"].includes(String(name)))
					return typeof value === "function" ? value.bind(target) : value;
				return (...args: unknown[]) => {
					note(String(name));
					return value.apply(target, args);
				};
			},
		});
		const host: ProcessHost = new Proxy(world.host, {
			get: (target, name) => {
				const value = Reflect.get(target, name, target);
				if (typeof value !== "function") return value;
				return (...args: unknown[]) => {
					if (name === "createDirectory") note("directory");
					if (name === "listenLifeline") note("lifeline");
					return value.apply(target, args);
				};
			},
		});
		return {
			...world,
			registry,
			host,
			source: {
				...world.source,
				start: (...[spec, record]: Parameters<typeof world.source.start>) => {
					note("spawn");
					return world.source.start(spec, (identity) => {
						record(identity);
						note(`recorded: ${registry.list().map(({ status }) => status)}`);
					});
				},
			},
			emit: (event) => {
				note(event.type);
				world.emit(event);
			},
		};
	};
	return {
		order,
		setting: {
			world: observe,
			wrap: (adapter) => ({
				...adapter,
				launch: (slot, signal) => {
					note("launch");
					return adapter.launch(slot, signal);
				},
				spawned: () => note("adapter.spawned"),
				connect: (process, signal) => {
					note("connect");
					return adapter.connect(process, signal);
				},
			}),
		},
	};
}

describe("a start", () => {
	test("reserves before there is a process, records it in the turn of its spawn, and only then speaks to it", async () => {
		const { order, setting } = observedStart();
		const bench = workerBench({ launchPayload: { tools: "x" } }, {}, setting);
		await bench.ready();
		expect(order).toEqual([
			"worker.starting",
			"directory",
			"launch",
			"reserve",
			"lifeline",
			"spawn",
			"activate",
			"recorded: active",
			"worker.spawned",
			"adapter.spawned",
			"connect",
			"worker.ready",
		]);
	});

	test("fails when its adapter fails to load what it needs, and leaves nothing", async () => {
		const bench = workerBench(
			{},
			{},
			{
				wrap: (adapter) => ({
					...adapter,
					spawned: () => {
						throw new Error("out of memory");
					},
				}),
			},
		);
		const outcome = bench.start(bench.addWorker());
		await bench.clock.advance(60_000);
		expect(await outcome).toMatchObject({
			name: "StartError",
			message: expect.stringContaining("out of memory"),
		});
		expect(bench.leftovers()).toEqual([]);
	});

	test("lets its adapter write to its directory before there is a process, and leaves no directory when that fails", async () => {
		const seen: string[] = [];
		const bench = workerBench(
			{},
			{},
			{
				wrap: (adapter) => ({
					...adapter,
					launch(slot) {
						seen.push(...bench.leftovers());
						expect(seen).toEqual([`path ${slot.directory}`]);
						throw new Error("the configuration cannot be written");
					},
				}),
			},
		);
		const outcome = bench.start(bench.addWorker());
		await bench.clock.advance(60_000);
		expect(await outcome).toMatchObject({
			name: "StartError",
			message: expect.stringContaining("the configuration cannot be written"),
		});
		expect(seen).toHaveLength(1);
		expect(bench.leftovers()).toEqual([]);
	});

	test("of a program that does not use Snakepit opens no lifeline and no control channel", async () => {
		const { order, setting } = observedStart();
		const bench = workerBench({}, {}, setting);
		const [worker, process] = await bench.ready();
		expect(order).not.toContain("lifeline");
		expect(process.control).toBeUndefined();
		expect(worker.state).toBe("ready");
		expect(bench.events.of("worker.ready")).toMatchObject([
			{ ready: undefined },
		]);
	});

	test("leaves in the ledger what is needed to find the process and its files again", async () => {
		const bench = workerBench();
		const [worker, process] = await bench.ready();
		expect(bench.registry.list()).toMatchObject([
			{
				incarnation: worker.ref.incarnation,
				workerId: "scripted-0",
				pool: "scripted",
				status: "active",
				identity: process.identity,
				groupId: process.groupId,
				fingerprint: expect.stringMatching(/^scripted-program#/),
				files: [worker.slot.directory],
			},
		]);
	});

	test("gives the process the environment, marked, and the adapter's wishes", async () => {
		const bench = workerBench(
			{ launch: { env: { B: "adapter" }, cwd: "/srv" } },
			{},
			{ environment: { A: "host", B: "host" } },
		);
		const [worker, process] = await bench.ready();
		expect(process.spec).toMatchObject({
			cwd: "/srv",
			env: {
				A: "host",
				B: "adapter",
				[MARKER_VARIABLE]: "the-marker",
				[INCARNATION_VARIABLE]: worker.ref.incarnation,
			},
		});
	});

	test("sends one launch message with lifeline, token and payload, and the adapter gets the same token", async () => {
		const received: FakeLaunchMessage[] = [];
		const tokens: string[] = [];
		const bench = workerBench(
			{ launchPayload: { tools: "x" } },
			{},
			{
				wrap: (adapter) => ({
					...adapter,
					connect: (process, signal) => {
						tokens.push(process.token);
						return adapter.connect(process, signal);
					},
				}),
			},
		);
		bench.host.install(bench.adapter.executable, async (process) => {
			received.push(await readLaunchMessage(process));
			process.control?.write('{"ready":{"tools":["x"]}}\n');
			await process.idle();
		});
		const worker = bench.addWorker();
		void bench.start(worker);
		await bench.clock.settle();
		expect(received).toEqual([
			{
				snakepit: 1,
				runId: bench.registry.runId,
				workerId: "scripted-0",
				incarnation: worker.ref.incarnation,
				lifeline: `${worker.slot.directory}/l`,
				directory: worker.slot.directory,
				token: tokens[0],
				payload: { tools: "x" },
			},
		]);
		expect(tokens[0]).toMatch(/^[0-9a-f]{64}$/);
	});

	test("reports its attempt, what it replaces, how long each phase took, and what the program reported about itself", async () => {
		const bench = workerBench({
			launchPayload: {},
			boot: (process) => process.sleep(300),
			connect: (worker) => worker.process.sleep(40),
		});
		const spawn = bench.host.holdSpawns();
		const started = bench.start(bench.addWorker(), 3, "an-earlier-one");
		await bench.clock.advance(5);
		spawn();
		expect(await bench.clock.advanceUntil(started)).toBe("ready");
		expect(bench.events.of("worker.starting")).toMatchObject([
			{ attempt: 3, replaces: "an-earlier-one" },
		]);
		expect(bench.events.of("worker.spawned")).toMatchObject([
			{ source: "fake", pid: bench.host.started[0]?.pid },
		]);
		expect(bench.events.of("worker.ready")).toMatchObject([
			{
				durationMs: 345,
				phases: { spawnMs: 5, launchMs: 300, connectMs: 40 },
				ready: { scripted: true },
				pid: bench.host.started[0]?.pid,
			},
		]);
	});

	test("hands standard input and output to an adapter that converses over them, and to no other", async () => {
		for (const stdio of ["adapter", "pool"] as const) {
			const seen: unknown[] = [];
			const bench = workerBench(
				{ launch: { stdio } },
				{},
				{
					wrap: (adapter) => ({
						...adapter,
						connect: (process, signal) => {
							seen.push(
								process.stdin !== undefined,
								process.stdout !== undefined,
							);
							return adapter.connect(process, signal);
						},
					}),
				},
			);
			const [, process] = await bench.ready();
			process.write("a line");
			await bench.clock.settle();
			const converses = stdio === "adapter";
			expect(seen).toEqual([converses, converses]);
			expect(bench.events.of("worker.output")).toHaveLength(converses ? 0 : 1);
		}
	});

	test("lets the adapter hand on log records, which are emitted with the worker's name", async () => {
		const bench = workerBench();
		await bench.ready();
		bench.adapter.workers[0]?.log("loaded 3 tools", { wallMs: 77 });
		expect(bench.events.of("worker.logged")).toMatchObject([
			{
				workerId: "scripted-0",
				wallMs: 77,
				record: { level: "info", message: "loaded 3 tools" },
			},
		]);
	});
});

describe("a conversation that breaks", () => {
	test("once it is ready condemns the worker, with what the adapter reports about it", async () => {
		const bench = workerBench();
		const [worker] = await bench.ready();
		bench.adapter.workers[0]?.breakConversation("sent noise");
		expect(worker).toMatchObject({
			state: "stopping",
			cause: expect.objectContaining({
				reason: "broken",
				verdict: expect.stringMatching(/its conversation broke: .*sent noise/),
			}),
		});
	});
});

describe("starts at the same time", () => {
	test("are no more than allowed, and one that fails makes room", async () => {
		let booting = 0;
		let most = 0;
		const bench = workerBench(
			{
				boot: async (process, attempt) => {
					most = Math.max(most, ++booting);
					await process.sleep(100);
					booting--;
					if (attempt === 2) process.exit(1);
				},
				launchPayload: {},
			},
			{},
			{ startsAtOnce: 2 },
		);
		const outcomes = [1, 2, 3, 4, 5].map(() => bench.start(bench.addWorker()));
		await bench.clock.advance(299);
		expect(bench.events.of("worker.starting")).toHaveLength(5);
		expect(await bench.clock.advanceUntil(Promise.all(outcomes))).toMatchObject(
			["ready", { code: "WORKER_EXITED_EARLY" }, "ready", "ready", "ready"],
		);
		expect(most).toBe(2);
		expect(bench.clock.now()).toBe(300);
	});
});
