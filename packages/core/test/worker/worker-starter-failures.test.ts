import { describe, expect, test } from "vitest";
import { StartError } from "../../src/errors.ts";
import {
	connectFails,
	type FakeProcess,
	neverConnects,
	type ScriptedAdapterOptions,
	type ScriptedWorker,
} from "../../src/testing.ts";
import type { ProcessHost, World } from "../../src/world.ts";
import {
	type BenchSetting,
	type Failure,
	type WorkerBench,
	workerBench,
} from "./worker-bench.ts";

const speaksControl = { launchPayload: {} };

/** Starts one worker, which fails, and waits until that is over. */
async function failed(bench: WorkerBench): Promise<Failure> {
	const worker = bench.hire();
	const outcome = await bench.clock.advanceUntil(bench.start(worker));
	if (outcome === "ready") return expect.unreachable();
	if (worker.pid === undefined) worker.neverSpawned();
	await bench.clock.advanceUntil(worker.gone);
	expect(worker.state).toBe("exited");
	return outcome;
}

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
					throw new RangeError("no seat like this");
				},
			},
			expected: {
				code: "SPAWN_FAILED",
				message: "Worker scripted-0 could not be started: no seat like this",
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
							ran: "no",
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
			expect(await failed(bench)).toMatchObject({ ran: "no", ...expected });
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
		const worker = bench.hire();
		bench.host.createDirectory(worker.seat.directory);
		expect(await bench.clock.advanceUntil(bench.start(worker))).toMatchObject({
			code: "SPAWN_FAILED",
			message: expect.stringContaining("EEXIST"),
		});
		expect(bench.leftovers()).toEqual([`path ${worker.seat.directory}`]);
	});

	test("a process that cannot be recorded is killed by whoever started it, and leaves nothing", async () => {
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
		expect(await failed(bench)).toMatchObject({
			code: "SPAWN_FAILED",
			message: expect.stringContaining("the ledger is gone"),
		});
		expect(bench.host.started).toHaveLength(1);
		expect(bench.leftovers()).toEqual([]);
	});
});

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
			process.write("last words", "stderr");
			await then(process, ...rest);
		};
	const cases: readonly Case[] = [
		{
			when: "the launch message is too large",
			script: { launchPayload: "x".repeat(70_000), boot: prints(() => {}) },
			expected: {
				code: "CONNECT_FAILED",
				message: expect.stringContaining("by a file or the environment"),
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
		},
		{
			when: "the ready line is malformed",
			script: { ...speaksControl, boot: prints(says("hello world\n")) },
			expected: {
				code: "READY_LINE_INVALID",
				message: expect.stringMatching(
					/"hello world".*\n.*\n {2}\| last words/,
				),
			},
		},
		{
			when: "the ready line never ends",
			script: { ...speaksControl, boot: prints(says("x".repeat(65_537))) },
			expected: {
				code: "READY_LINE_TOO_LONG",
				message: expect.stringContaining("| last words"),
			},
		},
		{
			when: "the program refuses",
			script: {
				...speaksControl,
				boot: prints(
					says(
						'{"failed":{"code":"TOOLS_IMPORT_FAILED","message":"no numpy"}}\n',
					),
				),
			},
			expected: {
				code: "TOOLS_IMPORT_FAILED",
				message: expect.stringMatching(/no numpy\n.*\n {2}\| last words/),
			},
		},
		{
			when: "the program exits before it is ready",
			script: { ...speaksControl, boot: prints((process) => process.exit(3)) },
			expected: {
				code: "WORKER_EXITED_EARLY",
				message: expect.stringMatching(
					/exited with code 3 before it was ready\.\n.*\n {2}\| last words/,
				),
			},
		},
		{
			when: "the program hangs before it is ready",
			script: { ...speaksControl, boot: prints((process) => process.idle()) },
			expected: {
				code: "START_TIMEOUT",
				message: expect.stringMatching(
					/within 60000 ms.*start\.timeoutMs\.\n.*\n {2}\| last words/,
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
					/closed its control channel.*\n.*\n {2}\| last words/,
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
					/its adapter could not connect: wrong number\n.*\n {2}\| last words/,
				),
				cause: expect.objectContaining({ message: "wrong number" }),
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
			expect(await failed(bench)).toMatchObject({
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
			expect(bench.heard).toEqual(["released"]);
			expect(bench.registry.list()).toMatchObject([
				{ status: "ended", end: { reason: "start_failed" } },
			]);
		},
	);

	test("what is condemned says why in its event, without the last lines that the error has", async () => {
		const bench = workerBench({ connect: connectFails("wrong number") });
		await failed(bench);
		expect(bench.events.of("worker.condemned")).toMatchObject([
			{ reason: "start_failed", message: "wrong number" },
		]);
	});

	test("a process that resists its end keeps nobody waiting for the error", async () => {
		const bench = workerBench({
			connect: (worker) => {
				worker.process.killable = false;
				return connectFails("wrong number")();
			},
		});
		const started = bench.start(bench.hire());
		expect(await bench.clock.advanceUntil(started)).toMatchObject({
			code: "CONNECT_FAILED",
		});
		expect(bench.host.living()).toHaveLength(1);
		expect(bench.clock.now()).toBe(100);
	});

	test("a program that is ready only after its time is up is not spoken to any more", async () => {
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
		const started = bench.start(bench.hire());
		await bench.clock.advance(60_200);
		expect(await started).toMatchObject({ code: "START_TIMEOUT" });
		expect(connected).toEqual([]);
	});
});
