import { describe, expect, test } from "vitest";
import type { FakeProcess } from "../../src/testing/fake-process.ts";
import {
	connectFails,
	neverConnects,
} from "../../src/testing/scripted-adapter.ts";
import type { ScriptedWorker } from "../../src/testing/scripted-worker.ts";
import type { ScriptedAdapterOptions } from "../../src/testing.ts";
import { failedStart } from "./failed-start.ts";
import { workerBench } from "./worker-bench.ts";

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
