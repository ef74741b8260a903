import { describe, expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import {
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
} from "../../src/contract/identity.ts";
import type { ProcessHost, World } from "../../src/contract/world.ts";
import type { FakeProcess } from "../../src/testing/fake-process.ts";
import {
	connectFails,
	type FakeLaunchMessage,
	neverConnects,
	readLaunchMessage,
} from "../../src/testing/scripted-adapter.ts";
import type { ScriptedWorker } from "../../src/testing/scripted-worker.ts";
import type { ScriptedAdapterOptions } from "../../src/testing.ts";
import type { Worker } from "../../src/worker/worker.ts";
import {
	type BenchSetting,
	benchWith,
	failedStart,
	type WorkerBench,
	workerBench,
} from "./worker-bench.ts";

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
		const bench = benchWith({
			wrap: (adapter) => ({
				...adapter,
				spawned: () => {
					throw new Error("out of memory");
				},
			}),
		});
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
		const bench = benchWith({
			wrap: (adapter) => ({
				...adapter,
				launch(slot) {
					seen.push(...bench.leftovers());
					expect(seen).toEqual([`path ${slot.directory}`]);
					throw new Error("the configuration cannot be written");
				},
			}),
		});
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
		const bench = benchWith(setting);
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

const speaksControl = { launchPayload: {} };

describe("with a process", () => {
	interface Case {
		readonly when: string;
		readonly script: ScriptedAdapterOptions;
		readonly expected: object;
		/** How long it takes, in milliseconds. */
		readonly afterMs?: number;
	}
	const says = (line: string) => async (process: FakeProcess) => {
		process.control?.write(line);
		await process.idle();
	};
	const prints =
		<Rest extends unknown[]>(
			then: (process: FakeProcess, ...rest: Rest) => unknown,
		) =>
		async (process: FakeProcess, ...rest: Rest): Promise<void> => {
			process.write("last output", "stderr");
			await then(process, ...rest);
		};
	const cases: readonly Case[] = [
		{
			when: "the launch message is too large",
			script: { launchPayload: "x".repeat(70_000), boot: prints(() => {}) },
			expected: {
				code: "CONNECT_FAILED",
				message: expect.stringContaining("in a file or in the environment"),
			},
		},
		{
			when: "the launch payload cannot be written as JSON",
			script: { launchPayload: 7n },
			expected: {
				code: "CONNECT_FAILED",
				message: expect.stringMatching(/could not connect: .*BigInt/),
				cause: expect.any(TypeError),
			},
			afterMs: 1_000,
		},
		{
			when: "the ready line is malformed",
			script: { ...speaksControl, boot: prints(says("hello world\n")) },
			expected: {
				code: "READY_LINE_INVALID",
				message: expect.stringMatching(
					/"hello world".*\n.*\n {2}\| last output/,
				),
			},
		},
		{
			when: "the ready line never ends",
			script: { ...speaksControl, boot: prints(says("x".repeat(65_537))) },
			expected: {
				code: "READY_LINE_TOO_LONG",
				message: expect.stringContaining("| last output"),
			},
		},
		{
			when: "the program refuses",
			script: {
				...speaksControl,
				launch: { refusalCodes: ["TOOLS_IMPORT_FAILED"] },
				boot: prints(
					says(
						'{"failed":{"code":"TOOLS_IMPORT_FAILED","message":"no numpy"}}\n',
					),
				),
			},
			expected: {
				code: "TOOLS_IMPORT_FAILED",
				message: expect.stringMatching(/no numpy\n.*\n {2}\| last output/),
			},
		},
		{
			when: "the program exits before it is ready",
			script: { ...speaksControl, boot: prints((process) => process.exit(3)) },
			expected: {
				code: "WORKER_EXITED_EARLY",
				message: expect.stringMatching(
					/exited with code 3 before it was ready\.\n.*\n {2}\| last output/,
				),
			},
		},
		{
			when: "the program hangs before it is ready",
			script: { ...speaksControl, boot: prints((process) => process.idle()) },
			expected: {
				code: "START_TIMEOUT",
				message: expect.stringMatching(
					/within 60000 ms.*start\.timeoutMs\.\n.*\n {2}\| last output/,
				),
			},
			afterMs: 60_000,
		},
		{
			when: "the program closes its control channel and stays",
			script: {
				...speaksControl,
				boot: prints(async (process) => {
					process.control?.end();
					await process.idle();
				}),
			},
			expected: {
				code: "WORKER_EXITED_EARLY",
				message: expect.stringMatching(
					/closed its control channel.*\n.*\n {2}\| last output/,
				),
			},
			afterMs: 1_000,
		},
		{
			when: "the adapter cannot connect",
			script: { connect: connectFails("wrong number"), boot: prints(() => {}) },
			expected: {
				code: "CONNECT_FAILED",
				message: expect.stringMatching(
					/its adapter could not connect: wrong number\n.*\n {2}\| last output/,
				),
				cause: expect.objectContaining({ message: "wrong number" }),
			},
			afterMs: 1_000,
		},
		{
			when: "the program exits while its conversation breaks",
			script: {
				boot: prints(() => {}),
				connect: async (worker: ScriptedWorker) => {
					worker.process.exit(4);
					worker.breakConversation("write EPIPE");
					throw new Error("write EPIPE");
				},
			},
			expected: {
				code: "WORKER_EXITED_EARLY",
				message: expect.stringMatching(
					/exited with code 4 before it was ready\.\n.*\n {2}\| last output/,
				),
			},
		},
		{
			when: "the program exits while its adapter has nothing to wait for",
			script: {
				boot: prints(() => {}),
				connect: (worker: ScriptedWorker) => worker.process.exit(0),
			},
			expected: {
				code: "WORKER_EXITED_EARLY",
				message: expect.stringMatching(
					/exited with code 0 before it was ready\.\n.*\n {2}\| last output/,
				),
			},
		},
		{
			when: "connecting never ends",
			script: { connect: neverConnects },
			expected: { code: "START_TIMEOUT" },
			afterMs: 60_000,
		},
		{
			when: "the conversation breaks before it is ready",
			script: {
				connect: async (worker: ScriptedWorker) => {
					worker.breakConversation("sent noise");
					await neverConnects();
				},
			},
			expected: {
				code: "WORKER_EXITED_EARLY",
				message: expect.stringMatching(
					/was ended by SIGKILL because its conversation broke: .*sent noise.* before it was ready/,
				),
			},
		},
	];

	test.each(cases)(
		"a start fails and leaves nothing when $when",
		async ({ script, expected, afterMs = 0 }) => {
			const bench = workerBench(script);
			expect(await failedStart(bench)).toMatchObject({
				name: "StartError",
				ran: "no",
				...expected,
			});
			expect(bench.clock.now()).toBe(afterMs);
			expect(bench.leftovers()).toEqual([]);
			expect(bench.clock.pending()).toBe(0);
			expect(bench.events.of("worker.ready")).toEqual([]);
			expect(bench.events.of("worker.exited")).toMatchObject([
				{ reason: "start_failed", callsLost: 0, lifetimeMs: 0 },
			]);
			expect(bench.endings).toMatchObject([
				{ reason: "start_failed", readyMs: 0 },
			]);
			expect(bench.reported).toEqual(["released"]);
			expect(bench.registry.list()).toMatchObject([
				{ status: "ended", end: { reason: "start_failed" } },
			]);
		},
	);

	test("a condemned worker has the reason in its event, without the last lines that the error has", async () => {
		const bench = workerBench({ connect: connectFails("wrong number") });
		await failedStart(bench);
		expect(bench.events.of("worker.condemned")).toMatchObject([
			{ reason: "start_failed", message: "wrong number" },
		]);
	});

	test("the error does not wait for a process that resists its end", async () => {
		const bench = workerBench({
			connect: (worker) => {
				worker.process.killable = false;
				return connectFails("wrong number")();
			},
		});
		const started = bench.start(bench.addWorker());
		expect(await bench.clock.advanceUntil(started)).toMatchObject({
			code: "CONNECT_FAILED",
		});
		expect(bench.host.living()).toHaveLength(1);
		expect(bench.clock.now()).toBe(1_100);
	});

	test("a program that becomes ready after the time limit is not contacted any more", async () => {
		const connected: unknown[] = [];
		const bench = workerBench(
			{
				...speaksControl,
				boot: async (process) => {
					process.killable = false;
					await process.sleep(60_050);
				},
			},
			{},
			{
				wrap: (adapter) => ({
					...adapter,
					connect: (process, signal) => {
						connected.push(process);
						return adapter.connect(process, signal);
					},
				}),
			},
		);
		const started = bench.start(bench.addWorker());
		await bench.clock.advance(60_200);
		expect(await started).toMatchObject({ code: "START_TIMEOUT" });
		expect(connected).toEqual([]);
	});
});

describe("a program that hangs before it is ready", () => {
	const asks = { launch: { dumpSignal: "SIGUSR1" } } as const;

	test("is asked for its stacks where it handles the signal, and its error has all of them", async () => {
		const frames = Array.from({ length: 100 }, (_, n) => `frame ${n}`);
		const bench = workerBench({
			...speaksControl,
			...asks,
			boot: async (process) => {
				process.write("last output", "stderr");
				process.on("SIGUSR1", () => {
					for (const frame of frames) process.write(frame, "stderr");
				});
				await process.idle();
			},
		});
		const { code, message } = await failedStart(bench);
		expect(code).toBe("START_TIMEOUT");
		expect(message.split("\n").slice(2)).toEqual(
			["last output", ...frames].map((line) => `  | ${line}`),
		);
		expect(bench.host.started[0]?.received).toEqual(["SIGUSR1", "SIGKILL"]);
		expect(bench.clock.now()).toBe(60_250);
		expect(bench.events.of("worker.exited")).toMatchObject([
			{ reason: "start_failed", killer: "stop_ladder" },
		]);
		expect(bench.leftovers()).toEqual([]);
	});

	test("is not sent the signal where it does not handle it", async () => {
		const bench = workerBench({
			...speaksControl,
			...asks,
			boot: (process) => process.idle(),
		});
		expect(await failedStart(bench)).toMatchObject({ code: "START_TIMEOUT" });
		expect(bench.host.started[0]?.received).toEqual(["SIGKILL"]);
		expect(bench.clock.now()).toBe(60_000);
	});

	test("is ended at once by a caller that cannot wait for its stacks", async () => {
		const bench = workerBench({
			...speaksControl,
			...asks,
			boot: async (process) => {
				await process.ignore("SIGUSR1").idle();
			},
		});
		const worker = bench.addWorker();
		const started = bench.start(worker);
		await bench.clock.advance(60_100);
		expect(bench.host.started[0]?.received).toEqual(["SIGUSR1"]);
		worker.condemn("closed", "its pool closes");
		expect(await bench.clock.advanceUntil(started)).toMatchObject({
			code: "START_WITHDRAWN",
		});
		expect(bench.clock.now()).toBe(60_100);
	});
});

/** A world whose host has some methods of another one. */
const withHost =
	(change: (host: ProcessHost) => Partial<ProcessHost>) =>
	(world: World): World => ({
		...world,
		host: new Proxy(world.host, {
			get: (host, name) => {
				const changed = Reflect.get(change(host), name);
				if (changed !== undefined) return changed;
				const value = Reflect.get(host, name, host);
				return typeof value === "function" ? value.bind(host) : value;
			},
		}),
	});

describe("without a process", () => {
	interface Case {
		readonly when: string;
		readonly script?: ScriptedAdapterOptions;
		readonly setting?: BenchSetting;
		readonly prepare?: (bench: WorkerBench) => void;
		readonly expected: object;
	}
	const cases: readonly Case[] = [
		{
			when: "the adapter cannot say what to execute",
			script: {
				launch: () => {
					throw new RangeError("no slot like this");
				},
			},
			expected: {
				code: "SPAWN_FAILED",
				message: "Worker scripted-0 could not be started: no slot like this",
				cause: expect.any(RangeError),
			},
		},
		{
			when: "the ledger refuses",
			prepare: ({ registry }) => registry.failWrites(),
			expected: { name: "RegistryError", code: "REGISTRY_FULL" },
		},
		{
			when: "its directory cannot be made",
			prepare: ({ host }) => {
				host.directoryError = new Error("EACCES: permission denied");
			},
			expected: {
				code: "SPAWN_FAILED",
				message: expect.stringContaining("EACCES: permission denied"),
			},
		},
		{
			when: "nobody can listen for its lifeline",
			script: speaksControl,
			setting: {
				world: withHost(() => ({
					listenLifeline: async () => {
						throw new StartError({
							code: "SOCKET_PATH_TOO_LONG",
							message: "the path has 140 bytes",
						});
					},
				})),
			},
			expected: {
				code: "SOCKET_PATH_TOO_LONG",
				message: "the path has 140 bytes",
			},
		},
		{
			when: "the system cannot start the program",
			script: speaksControl,
			prepare: ({ host }) => host.failSpawns(),
			expected: { code: "SPAWN_FAILED", ran: "no" },
		},
		{
			when: "what is thrown is no error",
			script: speaksControl,
			prepare: ({ host }) => host.failSpawns(1, "no luck" as unknown as Error),
			expected: {
				code: "SPAWN_FAILED",
				message: "Worker scripted-0 could not be started: no luck",
			},
		},
	];

	test.each(cases)(
		"a start fails and leaves nothing when $when",
		async ({ script, setting, prepare, expected }) => {
			const bench = workerBench(script, {}, setting);
			prepare?.(bench);
			expect(await failedStart(bench)).toMatchObject({
				ran: "no",
				...expected,
			});
			expect(bench.host.started).toEqual([]);
			expect(bench.leftovers()).toEqual([]);
			expect(bench.clock.pending()).toBe(0);
			for (const { end } of bench.registry.list()) {
				expect(end).toEqual({
					exit: undefined,
					reason: "start_failed",
					killer: "none",
				});
			}
			expect(bench.events.types()).not.toContain("worker.spawned");
		},
	);

	test("a directory that was there before is not removed with the failed start", async () => {
		const bench = workerBench();
		const worker = bench.addWorker();
		bench.host.createDirectory(worker.slot.directory);
		expect(await bench.clock.advanceUntil(bench.start(worker))).toMatchObject({
			code: "SPAWN_FAILED",
			message: expect.stringContaining("EEXIST"),
		});
		expect(bench.leftovers()).toEqual([`path ${worker.slot.directory}`]);
	});

	test("a process that cannot be recorded is killed by the source that started it, and leaves nothing", async () => {
		const bench = workerBench(
			speaksControl,
			{},
			{
				world: (world) => ({
					...world,
					registry: new Proxy(world.registry, {
						get: (registry, name) => {
							if (name === "activate")
								return () => {
									throw new Error("the ledger is gone");
								};
							const value = Reflect.get(registry, name, registry);
							return typeof value === "function" ? value.bind(registry) : value;
						},
					}),
				}),
			},
		);
		expect(await failedStart(bench)).toMatchObject({
			code: "SPAWN_FAILED",
			message: expect.stringContaining("the ledger is gone"),
		});
		expect(bench.host.started).toHaveLength(1);
		expect(bench.leftovers()).toEqual([]);
	});
});

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
