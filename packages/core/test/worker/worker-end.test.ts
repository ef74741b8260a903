import { describe, expect, test } from "vitest";
import type { Worker } from "../../src/worker/worker.ts";
import { Call, readyScene } from "./worker-scenes.ts";

describe("the end of a worker", () => {
	test("leaves nothing: no file, no lifeline, no process of its group, no living row, no timer", async () => {
		const { worker, process, clock, leftovers } = await readyScene({
			launchPayload: {},
			boot: (self) => void self.fork((child) => child.ignore("SIGTERM").idle()),
		});
		process.die({ kind: "signal", signal: "SIGSEGV" });
		await clock.advanceUntil(worker.gone);
		expect(leftovers()).toEqual([]);
		expect(clock.pending()).toBe(0);
	});

	test("reports each step, and a group of which nothing proves that it is the worker's", async () => {
		const { worker, process, clock, host, events } = await readyScene({
			boot: (self) => void self.fork((child) => child.ignore("SIGTERM").idle()),
		});
		for (const member of host.living())
			if (member.pid !== process.pid) member.provable = false;
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		const { ref } = worker;
		const pids = host.living().map(({ pid }) => pid);
		expect(pids).toHaveLength(1);
		expect(events.of("worker.stop_step")).toMatchObject([
			{ ...ref, step: "sweep", sent: 0 },
		]);
		expect(events.of("worker.group_spared")).toMatchObject([
			{ ...ref, groupId: process.pid, pids },
		]);
	});

	test("is reported with everything that explains it, and recorded alike", async () => {
		const { worker, process, clock, events, registry } = await readyScene();
		process.write("farewell");
		await clock.advance(700);
		process.die({ kind: "signal", signal: "SIGSEGV" });
		await clock.advanceUntil(worker.gone);
		const end = {
			exit: { kind: "signal", signal: "SIGSEGV" },
			reason: "exited",
			killer: "none",
		};
		expect(events.of("worker.exited")).toMatchObject([
			{
				...worker.ref,
				...end,
				pid: process.pid,
				callsLost: 0,
				lifetimeMs: 700,
				tail: ["farewell"],
			},
		]);
		expect(registry.list()).toMatchObject([
			{ status: "ended", end: { ...end, tail: ["farewell"] } },
		]);
	});

	test("is reported in order: to the calls, the ledger, the listeners, the pool", async () => {
		const order: string[] = [];
		const { worker, process, clock, registry } = await readyScene(
			{},
			{},
			{
				world: (world) => ({
					...world,
					emit: (event) => {
						if (event.type === "worker.exited")
							order.push(`reported (${registry.living().length} living rows)`);
						world.emit(event);
					},
				}),
				onReleased: () => order.push("released"),
			},
		);
		const call = new Call();
		call.lost = () => order.push("call lost");
		worker.calls.add(call);
		void worker.gone.then(() => order.push("gone"));
		process.exit(1);
		await clock.advanceUntil(worker.gone);
		expect(order).toEqual([
			"call lost",
			"reported (0 living rows)",
			"released",
			"gone",
		]);
	});

	test("closes the conversation once, and is not harmed by one that cannot be closed", async () => {
		let closed = 0;
		const { worker, process, clock, endings } = await readyScene(
			{},
			{},
			{
				wrap: (scripted) => ({
					...scripted,
					connect: async (view, signal) => ({
						...(await scripted.connect(view, signal)),
						[Symbol.asyncDispose]: async () => {
							closed++;
							throw new Error("will not close");
						},
					}),
				}),
			},
		);
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		expect(closed).toBe(1);
		expect(endings).toHaveLength(1);
	});

	test("does not wait for a child that holds its output open, and what that prints is not the worker's", async () => {
		const { worker, process, clock, events } = await readyScene();
		const leftover = process.fork((child) => child.idle(), { newGroup: true });
		await clock.settle();
		process.exit(1);
		await clock.advanceUntil(worker.gone);
		expect(clock.now()).toBe(100);
		leftover.write("still here");
		await clock.settle();
		expect(events.of("worker.output")).toEqual([]);
	});

	test("stops the heartbeat", async () => {
		const { worker, process, clock, events } = await readyScene(
			{},
			{ heartbeat: {} },
		);
		process.exit(1);
		await clock.advanceUntil(worker.gone);
		await clock.advance(60_000);
		expect(events.of("heartbeat.sent")).toEqual([]);
		expect(clock.pending()).toBe(0);
	});
});

describe("its killer", () => {
	test.each<[string, (worker: Worker) => void, string]>([
		["leaving when asked", (worker) => worker.retire("closed"), "none"],
		["being killed", (worker) => worker.condemn("stuck", "x"), "stop_ladder"],
		[
			"the end of the host",
			(worker) => worker.killNow(),
			"application_cleanup",
		],
	])("is recorded: %s", async (_what, end, killer) => {
		const { worker, clock, registry } = await readyScene();
		end(worker);
		await clock.advanceUntil(worker.gone);
		expect(registry.list()).toMatchObject([{ end: { killer } }]);
	});

	test("is unknown where a signal came from elsewhere, also when its conversation broke first", async () => {
		for (const before of [
			() => {},
			(worker: Worker) => worker.conversationOver("it ended"),
		]) {
			const { worker, process, clock, registry } = await readyScene();
			before(worker);
			process.die({ kind: "signal", signal: "SIGKILL" });
			await clock.advanceUntil(worker.gone);
			expect(registry.list()).toMatchObject([
				{ end: { reason: "exited", killer: "unknown" } },
			]);
		}
	});

	test("is none where it left, and its group alone had to be killed", async () => {
		const { worker, clock, events, registry } = await readyScene({
			boot: (self) => void self.fork((child) => child.idle()),
		});
		worker.retire("closed");
		await clock.advanceUntil(worker.gone);
		expect(events.of("worker.stop_step").map(({ step }) => step)).toEqual([
			"leave",
			"sweep",
		]);
		expect(registry.list()).toMatchObject([
			{ end: { reason: "closed", killer: "none" } },
		]);
	});

	test("is the ladder also when it was hurried", async () => {
		const { worker, clock, registry } = await readyScene({
			leave: () => new Promise(() => undefined),
		});
		worker.retire("closed");
		await clock.settle();
		worker.condemn("closed", "its pool has no more time");
		await clock.advanceUntil(worker.gone);
		expect(registry.list()).toMatchObject([{ end: { killer: "stop_ladder" } }]);
	});
});

describe("a worker whose conversation broke", () => {
	test("because it was dying is reported as dead, not as condemned", async () => {
		const { worker, process, clock, registry } = await readyScene();
		const call = new Call();
		worker.calls.add(call);
		worker.conversationOver("it ended");
		process.exit(3);
		await clock.advanceUntil(worker.gone);
		expect(registry.list()).toMatchObject([
			{ end: { reason: "exited", killer: "none" } },
		]);
		expect(call.losses[0]?.message).toContain(
			"exited with code 3 while it ran this call",
		);
	});

	test("while it lives is ended for that", async () => {
		const { worker, clock, registry } = await readyScene();
		worker.conversationOver("it ended");
		await clock.advanceUntil(worker.gone);
		expect(registry.list()).toMatchObject([
			{ end: { reason: "broken", killer: "stop_ladder" } },
		]);
	});

	test("and whose host ends did not die by itself", async () => {
		const { worker, clock, registry } = await readyScene();
		worker.conversationOver("it ended");
		worker.killNow();
		await clock.advanceUntil(worker.gone);
		expect(registry.list()).toMatchObject([
			{ end: { reason: "broken", killer: "application_cleanup" } },
		]);
	});
});

describe("a process that not even SIGKILL ends", () => {
	test("is not waited for: its calls are lost, its worker is given up, and the ledger still has it", async () => {
		const { worker, process, clock, host, registry, events, reported } =
			await readyScene({ launchPayload: {} });
		process.killable = false;
		const call = new Call();
		worker.calls.add(call);
		worker.condemn("hung", "it has not answered for 10000 ms");
		await clock.advanceUntil(worker.gone);
		expect(clock.now()).toBe(5_100);
		expect(call.losses).toMatchObject([
			{
				code: "WORKER_HUNG",
				message: expect.stringContaining(
					"was sent SIGKILL and is still there because it has not answered",
				),
			},
		]);
		expect(events.of("worker.exited")).toMatchObject([
			{ exit: undefined, reason: "hung", callsLost: 1 },
		]);
		expect(reported).toEqual(["offered", "withdrawn", "released"]);
		expect(registry.living()).toMatchObject([{ status: "active" }]);
		expect(host.machine.paths.has(worker.slot.directory)).toBe(true);
	});

	test("and ends later after all changes nothing any more", async () => {
		const { worker, process, clock, events, reported } = await readyScene();
		process.killable = false;
		worker.condemn("stuck", "x");
		await clock.advanceUntil(worker.gone);
		expect(worker.state).toBe("stopping");
		process.die({ kind: "signal", signal: "SIGKILL" });
		await clock.advance(10_000);
		expect(worker.state).toBe("exited");
		expect(events.of("worker.exited")).toHaveLength(1);
		expect(reported).toEqual(["offered", "withdrawn", "released"]);
	});
});
