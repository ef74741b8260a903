import { describe, expect, test } from "vitest";
import { neverAnswers, staysPut } from "../../src/testing/scripted-adapter.ts";
import { endOfConversation, type Worker } from "../../src/worker/worker.ts";
import { benchWith, workerBench } from "./worker-bench.ts";
import {
	Call,
	readyScene,
	readySceneWith,
	startingScene,
} from "./worker-scenes.ts";

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
		const bench = benchWith({
			onOffered: (offered) => offered.retire("calls"),
		});
		const worker = bench.addWorker();
		expect(await bench.clock.advanceUntil(bench.start(worker))).toBe("ready");
		await bench.clock.advanceUntil(worker.gone);
		expect(bench.endings).toMatchObject([{ reason: "recycled" }]);
		expect(bench.events.of("worker.ready")).toHaveLength(1);
	});
});

describe("a retired worker", () => {
	test.each([
		["closed", "closed", undefined],
		["idle", "recycled", "it was idle"],
		["age", "recycled", "after 60000 ms, recycle.afterMs"],
		["calls", "recycled", "after 9 calls, recycle.afterCalls"],
		["resident_memory", "recycled", "above 200 MB, recycle.aboveResidentBytes"],
		[
			"cancels",
			"recycled",
			"its last calls all ended by their deadline or a cancel, recycle.afterCancels: 8",
		],
		["requested", "recycled", "it was asked for"],
		["resized", "recycled", "its pool is smaller now"],
		[
			"unconfirmed",
			"recycled",
			"a call was cancelled, and nothing tells when it ends",
		],
	] as const)(
		"because of %s is reported so, ends as %s, and is recorded with the bound",
		async (reason, end, detail) => {
			const { worker, events, endings, clock, registry } = await readyScene(
				{},
				{
					recycle: {
						...{ afterMs: 60_000, afterCalls: 9 },
						aboveResidentBytes: 200e6,
					},
				},
			);
			worker.retire(reason);
			await clock.advanceUntil(worker.gone);
			expect(events.of("worker.retiring")).toMatchObject([{ reason }]);
			expect(endings).toMatchObject([{ reason: end }]);
			expect(registry.list()[0]?.end).toMatchObject({ reason: end, detail });
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
		const { worker, process, clock, registry } = await readySceneWith({
			world: (world) => ({
				...world,
				emit: (event) => {
					if (event.type === "worker.exited")
						order.push(`reported (${registry.living().length} living rows)`);
					world.emit(event);
				},
			}),
			onReleased: () => order.push("released"),
		});
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
		const { worker, process, clock, endings } = await readySceneWith({
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
		});
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

	test.each([
		[
			{ kind: "killed", evidence: "its log" },
			{ killer: "out_of_memory", detail: "its log" },
		],
		[
			{ kind: "none" },
			{ killer: "unknown", detail: "not by the kernel for memory" },
		],
		[undefined, { killer: "unknown", detail: undefined }],
	] as const)(
		"of a SIGKILL, where the kernel says %o, is recorded so",
		async (kill, end) => {
			const { worker, process, host, clock, registry } = await readyScene();
			host.memoryKill = kill;
			process.die({ kind: "signal", signal: "SIGKILL" });
			await clock.advanceUntil(worker.gone);
			expect(registry.list()[0]?.end).toMatchObject(end);
		},
	);

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

describe("a call whose worker is gone", () => {
	test.each([
		["hung", "WORKER_HUNG"],
		["stuck", "WORKER_REPLACED"],
		["broken", "WORKER_EXITED"],
		["closed", "WORKER_EXITED"],
	] as const)(
		"because it was %s fails with %s, and the verdict",
		async (reason, code) => {
			const { worker, clock } = await readyScene();
			const call = new Call();
			worker.calls.add(call);
			worker.condemn(reason, "the verdict says so");
			await clock.advanceUntil(worker.gone);
			expect(call.losses).toMatchObject([
				{
					name: "WorkerLostError",
					code,
					ran: "maybe",
					message: expect.stringContaining(
						`Worker scripted-0 (pid ${worker.pid}) was ended by SIGKILL because the verdict says so while it ran this call`,
					),
				},
			]);
		},
	);

	test.each([
		[{ kind: "code", code: 1 } as const, "exited with code 1 while"],
		[
			{ kind: "signal", signal: "SIGSEGV" } as const,
			"was ended by SIGSEGV while",
		],
	])(
		"because it died by itself fails with its exit: %j",
		async (exit, words) => {
			const { worker, process, clock } = await readyScene();
			const call = new Call();
			worker.calls.add(call);
			process.die(exit);
			await clock.advanceUntil(worker.gone);
			expect(call.losses).toMatchObject([
				{
					code: "WORKER_EXITED",
					message: expect.stringMatching(
						new RegExp(`${words} it ran this call.*\\(retry\\)`),
					),
				},
			]);
		},
	);

	test("fails with its last lines, also those that were read after its death", async () => {
		const { worker, process, clock } = await readyScene({});
		const call = new Call();
		worker.calls.add(call);
		process.write("loading");
		process.write("Traceback (most recent call last):", "stderr");
		process.output.stderr.write("MemoryError"); // No line break any more.
		process.exit(1);
		await clock.advanceUntil(worker.gone);
		expect(call.losses[0]?.message).toMatch(
			/\nIts last lines:\n {2}\| loading\n {2}\| Traceback \(most recent call last\):\n {2}\| MemoryError$/,
		);
	});

	test("is lost once; one that finished in time, or between death and last output, is not", async () => {
		const { worker, process, clock, events } = await readyScene(
			{},
			{ callsPerWorker: 3 },
		);
		const [before, between, lost] = [new Call(), new Call(), new Call()];
		for (const call of [before, between, lost]) worker.calls.add(call);
		worker.finish(before, "answered");
		process.fork((child) => child.idle(), { newGroup: true }); // Holds the output open.
		await clock.settle();
		process.exit(1);
		await clock.advance(50);
		expect(worker.state).toBe("exited");
		worker.finish(between, "answered");
		await clock.advanceUntil(worker.gone);
		expect(worker.calls.attempts.length).toBe(0);
		worker.finish(lost, "answered");
		expect([before, between, lost].map(({ losses }) => losses.length)).toEqual([
			0, 0, 1,
		]);
		expect(events.of("worker.exited")).toMatchObject([{ callsLost: 1 }]);
	});
});

/** A call that the adapter may still answer. */
class Awaited extends Call {
	override expectsAnswer = true;
}

const conversing = { launch: { stdio: "adapter" as const } };

describe("a conversation that has ended", () => {
	test.each([
		["leaves", { leave: staysPut }, ["leave"]],
		["is asked to end by SIGTERM", { leave: false as const }, ["terminate"]],
	])(
		"while its worker %s is expected: it is not hurried, and not judged",
		async (_what, script, before) => {
			const { worker, process, clock, events } = await readyScene(script);
			process.on("SIGTERM", () => {});
			worker.retire("closed");
			await clock.settle();
			worker.conversationOver("it ended");
			await clock.advance(2_400);
			expect(process.alive).toBe(true);
			const steps = events.of("worker.stop_step").map(({ step }) => step);
			expect(steps).toEqual(before);
			expect(events.of("worker.condemned")).toEqual([]);
			process.exit(0);
			await clock.advanceUntil(worker.gone);
			expect(events.of("worker.exited")).toMatchObject([{ reason: "closed" }]);
		},
	);

	test("while its worker is to write its stacks does not cut that short", async () => {
		const { worker, process, clock } = await readyScene({
			launch: { dumpSignal: "SIGUSR1" },
		});
		process.ignore("SIGUSR1");
		worker.condemn("hung", "it is silent");
		await clock.settle();
		worker.conversationOver("it ended");
		await clock.advance(249);
		expect(process.alive).toBe(true);
		await clock.advance(1);
		expect(process.alive).toBe(false);
	});

	test("of a worker that ends by itself, as it announced, leaves it its grace", async () => {
		const { worker, process, clock, events } = await readyScene();
		const call = new Awaited();
		worker.calls.add(call);
		worker.retire("leaving");
		worker.conversationOver("it ended");
		await clock.advance(2_400);
		expect(process.alive).toBe(true);
		// Its call got no answer for a second.
		expect(call.losses).toMatchObject([{ code: "WORKER_EXITED" }]);
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "exited", killer: "none", callsLost: 1 },
		]);
	});
});

describe("output that ends", () => {
	test("is not an end if it does not belong to the conversation", async () => {
		const { worker, process, clock, events } = await readyScene();
		process.output.stdout.end();
		await clock.advance(600_000);
		expect(worker.hasCapacity).toBe(true);
		expect(events.of("worker.condemned")).toEqual([]);
	});

	test("takes the worker's room for calls at once", async () => {
		const { worker, process, clock, reported } = await readyScene(conversing);
		process.output.stdout.resume();
		process.output.stdout.end();
		await clock.settle();
		expect(worker.hasCapacity).toBe(false);
		expect(reported).toEqual(["offered", "withdrawn"]);
		expect(worker.state).toBe("ready");
	});

	test("is not reported for a worker that ends with it", async () => {
		const { worker, process, clock, events } = await readyScene(conversing);
		process.output.stdout.resume();
		process.output.stdout.end();
		await clock.advance(99);
		process.exit(3);
		await clock.advanceUntil(worker.gone);
		await clock.advance(10_000);
		expect(events.of("worker.condemned")).toEqual([]);
		expect(clock.pending()).toBe(0);
	});

	test("and that its adapter reports explains less than the exit that follows", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Call();
		worker.calls.add(call);
		process.output.stdout.resume();
		process.output.stdout.end();
		await clock.settle();
		worker.conversationOver("it has ended its output");
		await clock.advance(999);
		expect(call.losses).toEqual([]);
		process.exit(7);
		await clock.advanceUntil(worker.gone);
		expect(call.losses).toMatchObject([
			{
				code: "WORKER_EXITED",
				message: expect.stringContaining(
					"exited with code 7 while it ran this call",
				),
			},
		]);
		expect(clock.pending()).toBe(0);
	});

	test("before the worker is ready is the end of its start, at once", async () => {
		const { worker, process, clock } = await startingScene(conversing);
		process.output.stdout.resume();
		process.output.stdout.end();
		await clock.advance(100);
		expect(process.alive).toBe(false);
		expect(worker.cause.reason).toBe("start_failed");
	});
});

describe("the last answers of a worker that has ended", () => {
	test("are awaited until the adapter has read its output, and a second more", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Awaited();
		worker.calls.add(call);
		process.output.stdout.write("an answer that nobody reads yet");
		process.exit(0);
		await clock.advance(5_000);
		expect(call.losses).toEqual([]);
		process.output.stdout.resume();
		await clock.advance(999);
		expect(call.losses).toEqual([]);
		await clock.advance(1);
		expect(call.losses).toHaveLength(1);
		await worker.gone;
	});

	test("are awaited ten seconds at most while the adapter lets them wait", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Awaited();
		worker.calls.add(call);
		process.output.stdout.write("an answer that nobody reads ever");
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		expect(clock.now()).toBe(11_000);
		expect(call.losses).toHaveLength(1);
	});

	test("are awaited for two seconds when something else holds the output open", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Awaited();
		worker.calls.add(call);
		process.fork((child) => child.idle(), { newGroup: true });
		await clock.settle();
		process.output.stdout.resume();
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		// One for its output, and one for the adapter.
		expect(clock.now()).toBe(2_000);
	});

	test("that arrive free the worker at once", async () => {
		const { worker, process, clock } = await readyScene();
		const calls = [new Awaited(), new Awaited()];
		for (const call of calls) worker.calls.add(call);
		process.exit(0);
		await clock.advance(500);
		for (const call of calls) worker.finish(call, "answered");
		await clock.settle();
		await worker.gone;
		expect(clock.now()).toBe(500);
		expect(calls.flatMap(({ losses }) => losses)).toEqual([]);
		expect(clock.pending()).toBe(0);
	});

	test("are not awaited for calls that expect none", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Call();
		worker.calls.add(call);
		process.output.stdout.write("an answer that nobody reads ever");
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		expect(clock.now()).toBe(0);
		expect(call.losses).toHaveLength(1);
	});
});

test("a conversation that ends is followed by an end in order only where the worker leaves by itself, or its output has ended", () => {
	const manner = (...given: Parameters<typeof endOfConversation>): string =>
		endOfConversation(...given).manner;
	expect(manner("draining", "exited", false)).toBe("ending");
	expect(manner("ready", undefined, true)).toBe("ending");
	expect(manner("draining", "recycled", false)).toBe("waiting");
	expect(manner("ready", "exited", false)).toBe("waiting");
	expect(endOfConversation("starting", undefined, true)).toEqual({
		reason: "start_failed",
		manner: "forced",
	});
});
