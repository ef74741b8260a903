import { describe, expect, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { LaunchSpec } from "../../src/contract/launch.ts";
import type { ScriptedAdapter } from "../../src/testing/scripted-adapter.ts";
import type { Worker } from "../../src/worker/worker.ts";
import {
	type BenchSetting,
	benchWith,
	failedStart,
	workerBench,
} from "./worker-bench.ts";

type Launch = (
	program: LaunchSpec,
	signal: AbortSignal,
) => LaunchSpec | Promise<LaunchSpec>;

/** The scripted adapter, with another launch. */
const launching = (launch: Launch): BenchSetting => ({
	wrap: (adapter: ScriptedAdapter): Adapter => ({
		...adapter,
		launch: (slot, signal) =>
			launch({ executable: adapter.executable, args: [slot.workerId] }, signal),
	}),
});

const ways: readonly [string, Launch][] = [
	["at once", (program) => program],
	["later", async (program) => program],
];

test.each(ways)(
	"a launch that answers %s is executed",
	async (_when, launch) => {
		const bench = benchWith(launching(launch));
		const [worker, process] = await bench.ready();
		expect(process.spec.args).toEqual([worker.slot.workerId]);
	},
);

test.each(ways)(
	"what a launch answers %s is checked",
	async (_when, launch) => {
		const misspelt = { exectuable: "x" } as unknown as LaunchSpec;
		const bench = benchWith(
			launching((_program, signal) => launch(misspelt, signal)),
		);
		expect(await failedStart(bench)).toMatchObject({ code: "UNKNOWN_OPTION" });
	},
);

test("a launch that rejects fails the start with its reason, which the ledger has", async () => {
	let passed: AbortSignal | undefined;
	const bench = benchWith(
		launching(async (_program, signal) => {
			passed = signal;
			throw new RangeError("no free port");
		}),
	);
	expect(await failedStart(bench)).toMatchObject({
		code: "SPAWN_FAILED",
		message: "Worker scripted-0 could not be started: no free port",
	});
	expect(bench.registry.list()).toMatchObject([
		{
			...{
				status: "ended",
				identity: undefined,
				reservedAt: bench.clock.wall(),
			},
			startError: { code: "SPAWN_FAILED", at: undefined },
		},
	]);
	expect(passed?.reason).toBeInstanceOf(RangeError);
	expect(bench.clock.pending()).toBe(0);
});

test("a launch that never answers has the time of a start, and is then aborted", async () => {
	let passed: AbortSignal | undefined;
	const bench = workerBench(
		{},
		{ start: { timeoutMs: 3_000 } },
		launching((_program, signal) => {
			passed = signal;
			return new Promise(() => undefined);
		}),
	);
	const failure = await failedStart(bench);
	expect(failure).toMatchObject({
		code: "START_TIMEOUT",
		message: expect.stringMatching(
			/launch\(\) for worker scripted-0.*3000 ms.*start\.timeoutMs/,
		),
	});
	expect(bench.clock.now()).toBe(3_000);
	expect(passed?.reason).toBe(failure);
	expect(bench.host.started).toEqual([]);
	expect(bench.clock.pending()).toBe(0);
});

describe.each([
	["gently", (worker: Worker) => worker.retire("closed")],
	["by force", (worker: Worker) => worker.condemn("closed", "it is closed")],
] as const)("stopped %s while its launch takes its time", (_manner, stop) => {
	test("a worker starts nothing, and its launch is aborted", async () => {
		let passed: AbortSignal | undefined;
		const answer = Promise.withResolvers<LaunchSpec>();
		const bench = benchWith(
			launching((_program, signal) => {
				passed = signal;
				return answer.promise;
			}),
		);
		const worker = bench.addWorker();
		const started = bench.start(worker);
		await bench.clock.settle();
		stop(worker);
		expect(await started).toMatchObject({ code: "START_WITHDRAWN" });
		expect(passed?.reason).toMatchObject({ code: "START_WITHDRAWN" });
		answer.reject(new Error("too late")); // Nobody waits for it.
		await bench.clock.settle();
		expect(bench.host.started).toEqual([]);
		expect(bench.registry.list()).toEqual([]);
	});
});

test("a launch that stops its own worker has no process", async () => {
	const bench = benchWith(
		launching(async (program) => {
			worker.retire("closed");
			return program;
		}),
	);
	const worker = bench.addWorker();
	expect(await bench.start(worker)).toMatchObject({ code: "START_WITHDRAWN" });
	expect(bench.host.started).toEqual([]);
});

test("a start that fails after its launch aborts the signal of the launch", async () => {
	let passed: AbortSignal | undefined;
	const bench = workerBench(
		{
			connect: async () => {
				throw new Error("nobody listens");
			},
		},
		{},
		launching(async (program, signal) => {
			passed = signal;
			return program;
		}),
	);
	const failure = await failedStart(bench);
	expect(failure.code).toBe("CONNECT_FAILED");
	expect(passed?.reason).toBe(failure.cause);
});

test("a start that succeeds does not", async () => {
	let passed: AbortSignal | undefined;
	const bench = benchWith(
		launching(async (program, signal) => {
			passed = signal;
			return program;
		}),
	);
	const [worker] = await bench.ready();
	worker.condemn("closed", "the test is over");
	await bench.clock.advanceUntil(worker.gone);
	expect(passed?.aborted).toBe(false);
});
