import { describe, expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import type { ProcessHost, World } from "../../src/contract/world.ts";
import type { ScriptedAdapterOptions } from "../../src/testing.ts";
import { failedStart } from "./failed-start.ts";
import {
	type BenchSetting,
	type WorkerBench,
	workerBench,
} from "./worker-bench.ts";

const speaksControl = { launchPayload: {} };

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
