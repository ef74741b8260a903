import { describe, expect, test } from "vitest";
import { neverAnswers, staysPut } from "../../src/testing/scripted-adapter.ts";
import { workerBench } from "./worker-bench.ts";
import { Call, readyScene, startingScene } from "./worker-scenes.ts";

describe("a worker's room for calls", () => {
	test("is as large as the pool sets it, and shrinks and grows with its calls", async () => {
		const { worker } = await readyScene({}, { callsPerWorker: 2 });
		const [one, two] = [new Call(), new Call()];
		expect(worker.hasCapacity).toBe(true);
		worker.calls.add(one);
		expect(worker.hasCapacity).toBe(true);
		worker.calls.add(two);
		expect([worker.hasCapacity, worker.calls.attempts.length]).toEqual([
			false,
			2,
		]);
		expect(worker.finish(one, "answered")).toBe(true);
		expect([worker.hasCapacity, worker.calls.attempts.length]).toEqual([
			true,
			1,
		]);
		expect(worker.calls.taken).toBe(2);
	});

	test("is not offered again for a call that had ended before", async () => {
		const { worker } = await readyScene();
		const call = new Call();
		worker.calls.add(call);
		expect(worker.finish(call, "answered")).toBe(true);
		expect(worker.finish(call, "answered")).toBe(false);
	});

	test("does not exist before it is ready, nor after it was asked to end", async () => {
		const { worker } = await startingScene();
		expect(worker.hasCapacity).toBe(false);
		const { worker: old, reported } = await readyScene({ leave: staysPut });
		old.retire("age");
		expect(old.hasCapacity).toBe(false);
		expect(reported).toEqual(["offered", "withdrawn"]);
	});
});

describe("before there is a process", () => {
	test("a worker has no pid, no group, no lines, and was ready for no time", async () => {
		const { addWorker } = workerBench();
		const worker = addWorker();
		expect(worker).toMatchObject({
			state: "starting",
			pid: undefined,
			groupId: undefined,
			connection: undefined,
			heartbeat: undefined,
			cause: expect.objectContaining({ reason: undefined, verdict: "" }),
			readyMs: 0,
		});
		expect(worker.output).toBeUndefined();
		await worker.output?.lastLines();
		worker.killNow();
		expect(worker.state).toBe("starting");
	});
});

describe("a worker that is ready", () => {
	test("knows its process, its conversation, its lines, and how long it has been ready", async () => {
		const { worker, process, clock } = await readyScene();
		process.write("hello");
		await clock.advance(70);
		expect(worker).toMatchObject({
			pid: process.pid,
			groupId: process.groupId,
			readyMs: 70,
		});
		expect(worker.connection).toBeDefined();
		expect(worker.output?.tail.paragraph()).toContain("| hello");
	});

	test("is watched by a heartbeat, unless that is off", async () => {
		const on = await readyScene({}, { heartbeat: {} });
		expect(on.worker.heartbeat?.statistics().status).toBe("healthy");
		const off = await readyScene({}, { heartbeat: "off" });
		expect(off.worker.heartbeat).toBeUndefined();
		expect(off.clock.pending()).toBe(0);
	});

	test("may be retired by the listener that it offers room to, and did become ready all the same", async () => {
		const bench = workerBench(
			{},
			{},
			{ onOffered: (offered) => offered.retire("calls") },
		);
		const worker = bench.addWorker();
		expect(await bench.clock.advanceUntil(bench.start(worker))).toBe("ready");
		await bench.clock.advanceUntil(worker.gone);
		expect(bench.endings).toMatchObject([{ reason: "recycled" }]);
		expect(bench.events.of("worker.ready")).toHaveLength(1);
	});
});

describe("a retired worker", () => {
	test("finishes its calls before it is asked to leave", async () => {
		const { worker, process, events, clock } = await readyScene(
			{},
			{ callsPerWorker: 2 },
		);
		const [one, two] = [new Call(), new Call()];
		worker.calls.add(one);
		worker.calls.add(two);
		worker.retire("age");
		await clock.advance(60_000);
		worker.finish(one, "answered");
		await clock.advance(60_000);
		expect([worker.state, process.alive]).toEqual(["draining", true]);
		expect(events.of("worker.stop_step")).toEqual([]);
		worker.finish(two, "answered");
		expect(worker.state).toBe("stopping");
		await clock.advanceUntil(worker.gone);
		expect([one.losses, two.losses]).toEqual([[], []]);
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "recycled", killer: "none", callsLost: 0 },
		]);
	});

	test.each([
		["closed", "closed"],
		["idle", "recycled"],
		["age", "recycled"],
		["calls", "recycled"],
		["resident_memory", "recycled"],
		["cancels", "recycled"],
	] as const)(
		"because of %s is reported so, and ends as %s",
		async (reason, end) => {
			const { worker, events, endings, clock } = await readyScene();
			worker.retire(reason);
			await clock.advanceUntil(worker.gone);
			expect(events.of("worker.retiring")).toMatchObject([{ reason }]);
			expect(endings).toMatchObject([{ reason: end }]);
		},
	);

	test("is not retired twice", async () => {
		const { worker, events } = await readyScene();
		worker.calls.add(new Call());
		worker.retire("age");
		worker.retire("closed");
		expect(events.of("worker.retiring")).toHaveLength(1);
		expect(worker.cause.reason).toBe("recycled");
	});

	test("is still watched, and is condemned when it hangs with its last call", async () => {
		const { worker, clock, endings } = await readyScene(
			{ ping: neverAnswers },
			{ heartbeat: {} },
		);
		const call = new Call();
		worker.calls.add(call);
		worker.retire("age");
		await clock.advanceUntil(worker.gone);
		expect(endings).toMatchObject([{ reason: "hung" }]);
		expect(call.losses).toMatchObject([{ code: "WORKER_HUNG" }]);
	});
});

describe("a condemned worker", () => {
	test("is killed at once, takes no more calls, and reports why", async () => {
		const { worker, process, events, reported } = await readyScene();
		worker.condemn("stuck", "its call did not finish");
		expect(process.received).toEqual(["SIGKILL"]);
		expect(worker).toMatchObject({
			state: "stopping",
			cause: expect.objectContaining({
				reason: "stuck",
				verdict: "its call did not finish",
			}),
		});
		expect(events.of("worker.condemned")).toMatchObject([
			{ reason: "stuck", message: "its call did not finish" },
		]);
		expect(reported).toEqual(["offered", "withdrawn"]);
	});

	test("keeps the first reason", async () => {
		const { worker, clock, events, endings } = await readyScene();
		worker.condemn("stuck", "first");
		worker.condemn("broken", "second");
		await clock.advanceUntil(worker.gone);
		worker.condemn("hung", "third");
		expect(events.of("worker.condemned")).toHaveLength(1);
		expect(endings).toMatchObject([{ reason: "stuck" }]);
	});

	test("that was leaving gently is killed, and keeps its first reason", async () => {
		const { worker, process, clock, endings } = await readyScene({
			leave: staysPut,
		});
		worker.retire("closed");
		await clock.advance(10);
		expect(process.alive).toBe(true);
		worker.condemn("broken", "its conversation broke");
		await clock.advanceUntil(worker.gone);
		expect(clock.now()).toBe(10);
		expect(endings).toMatchObject([{ reason: "closed" }]);
	});

	test("because it hangs takes no call while it writes its stacks, which are among its last lines", async () => {
		const { worker, process, clock, events, reported } = await readyScene(
			{ ping: neverAnswers, launch: { dumpSignal: "SIGUSR1" } },
			{ heartbeat: {} },
		);
		process.on("SIGUSR1", () => process.write("in spin()", "stderr"));
		const call = new Call();
		worker.calls.add(call);
		await clock.advance(10_000);
		expect(process.received).toEqual(["SIGUSR1"]);
		expect([worker.state, worker.hasCapacity]).toEqual(["stopping", false]);
		expect(reported).toEqual(["offered", "withdrawn"]);
		await clock.advanceUntil(worker.gone);
		expect(process.received).toEqual(["SIGUSR1", "SIGKILL"]);
		expect(clock.now()).toBe(10_250);
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "hung", killer: "stop_ladder", tail: ["in spin()"] },
		]);
		expect(call.losses).toMatchObject([
			{
				code: "WORKER_HUNG",
				message: expect.stringMatching(
					/has not answered for 10000 ms and used no processor time \(heartbeat\.hungAfterMs\)[^|]*\| in spin\(\)/,
				),
			},
		]);
	});
});

describe("the end of the host", () => {
	test("kills a worker and its group in the very turn, and the ledger records it", async () => {
		const { worker, process, host, registry, clock, events } = await readyScene(
			{
				boot: (self) => void self.fork((child) => child.idle()),
			},
		);
		await clock.settle();
		expect(host.living()).toHaveLength(2);
		worker.killNow();
		expect(process.alive).toBe(false);
		expect(host.living()).toEqual([]);
		await clock.advanceUntil(worker.gone);
		expect(registry.list()).toMatchObject([
			{ end: { reason: "host_exit", killer: "application_cleanup" } },
		]);
		expect(events.of("worker.stop_step")).toEqual([]);
	});

	test("does not wait for a worker that leaves, and keeps the reason for that", async () => {
		const { worker, clock, endings, registry } = await readyScene({
			leave: staysPut,
		});
		worker.retire("closed");
		await clock.settle();
		worker.killNow();
		await clock.advanceUntil(worker.gone);
		expect(clock.now()).toBe(0);
		expect(endings).toMatchObject([{ reason: "closed" }]);
		expect(registry.list()).toMatchObject([
			{ end: { killer: "application_cleanup" } },
		]);
	});

	test("is the reason, also when the conversation breaks of it", async () => {
		const { worker, process, clock, endings, events } = await readyScene();
		process.endDelayMs = 20;
		worker.killNow();
		worker.condemn("broken", "its conversation broke");
		await clock.advanceUntil(worker.gone);
		expect(endings).toMatchObject([{ reason: "host_exit" }]);
		expect(events.of("worker.condemned")).toEqual([]);
	});

	test("means nothing to a worker that is gone", async () => {
		const { worker, process, clock, endings } = await readyScene();
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		worker.killNow();
		expect(worker.cause.reason).toBeUndefined();
		expect(endings).toMatchObject([{ reason: "exited" }]);
	});
});
