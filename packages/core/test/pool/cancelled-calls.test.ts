import { expect, test } from "vitest";
import { CallAbortedError } from "../../src/contract/errors.ts";
import { scripts } from "../../src/testing.ts";
import { outcome, type VirtualPool, virtualPool } from "./virtual-pool.ts";

test("a deadline counts the wait in the queue, and its error says whether the call may have run", async () => {
	const { pool, clock } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	const running = outcome(pool.execute("hang", undefined, { timeoutMs: 100 }));
	const waiting = outcome(pool.execute("hang", undefined, { timeoutMs: 60 }));
	await clock.advance(100);
	expect(await waiting).toMatchObject({ code: "CALL_TIMEOUT", ran: "no" });
	expect(await running).toMatchObject({ code: "CALL_TIMEOUT", ran: "maybe" });
});

test("an abort settles the call at once, keeps the reason, and frees the worker", async () => {
	const { pool, clock, adapter } = await virtualPool({
		commands: { hang: scripts.hang, echo: scripts.echo },
	});
	const controller = new AbortController();
	const hanging = outcome(
		pool.execute("hang", undefined, { signal: controller.signal }),
	);
	await clock.advance(1);
	const reason = new Error("changed my mind");
	controller.abort(reason);
	const ended = await hanging;
	expect(ended).toMatchObject({ code: "CALL_ABORTED", ran: "maybe" });
	expect(ended.kind === "error" && ended.error.name).toBe("AbortError");
	expect(ended.kind === "error" && ended.error.cause).toBe(reason);
	expect(await pool.execute("echo", 1)).toBe(1);
	expect(adapter.workers).toHaveLength(1);
});

test("a signal that is aborted already means the call never begins", async () => {
	const { pool, events } = await virtualPool({
		commands: { echo: scripts.echo },
	});
	expect(
		await outcome(pool.execute("echo", 1, { signal: AbortSignal.abort() })),
	).toMatchObject({ code: "CALL_ABORTED", ran: "no" });
	expect(events.of("call.dispatched")).toHaveLength(0);
});

test("a worker that does not finish after a cancel is replaced, and the next call runs", async () => {
	const { pool, clock, adapter, events } = await virtualPool(
		{ commands: { stuck: scripts.hangIgnoringAbort, echo: scripts.echo } },
		{ calls: { cancelGraceMs: 500 } },
	);
	const stuck = outcome(pool.execute("stuck", undefined, { timeoutMs: 100 }));
	const next = outcome(pool.execute("echo", "next"));
	await clock.advance(100);
	expect(await stuck).toMatchObject({ code: "CALL_TIMEOUT" });
	await clock.advance(1_000);
	expect(await next).toEqual({ kind: "value", value: "next" });
	expect(adapter.workers).toHaveLength(2);
	expect(events.of("worker.condemned")).toMatchObject([{ reason: "stuck" }]);
});

test("a host that was blocked beyond the grace first reads that the worker has finished", async () => {
	const free = Promise.withResolvers<never>();
	const { pool, clock, adapter, events } = await virtualPool(
		{ commands: { stuck: () => free.promise, echo: scripts.echo } },
		{ calls: { cancelGraceMs: 500 } },
	);
	const stuck = outcome(pool.execute("stuck", undefined, { timeoutMs: 100 }));
	await clock.advance(200);
	expect(await stuck).toMatchObject({ code: "CALL_TIMEOUT" });
	clock.stall(60_000);
	// Its timers fire before anything is read.
	await clock.settle();
	free.reject(new Error("cancelled"));
	await clock.advance(1_000);
	expect(await pool.execute("echo", 1)).toBe(1);
	expect(adapter.workers).toHaveLength(1);
	expect(events.of("worker.condemned")).toEqual([]);
});

test("a cancelled call holds the program open until its worker is free again", async () => {
	const { pool, clock, host } = await virtualPool({
		commands: { stuck: scripts.hangIgnoringAbort },
	});
	const call = outcome(pool.execute("stuck", undefined, { timeoutMs: 10 }));
	await clock.advance(10);
	expect(await call).toMatchObject({ code: "CALL_TIMEOUT" });
	expect(host.keptAlive).toBe(1);
	await clock.advance(10_000);
	expect(host.keptAlive).toBe(0);
});

test("a worker whose cancel is not confirmed finishes its other calls and is replaced, at no cost of its restart budget", async () => {
	const { pool, clock, adapter, events } = await virtualPool(
		{
			commands: {
				unconfirmed: ({ signal }) =>
					new Promise((_resolve, reject) => {
						signal.addEventListener("abort", () =>
							reject(
								new CallAbortedError({
									code: "CALL_ABORTED",
									ran: "maybe",
									message: "cancelled, as far as we know",
									worker: "unknown",
								}),
							),
						);
					}),
				work: scripts.work,
				whoami: scripts.whoami,
			},
		},
		{ callsPerWorker: 2 },
	);
	const first = adapter.workers[0]?.slot.incarnation;
	const other = pool.execute("work", 5_000);
	const cancelled = outcome(
		pool.execute("unconfirmed", undefined, { timeoutMs: 100 }),
	);
	await clock.advance(200);
	expect(await cancelled).toMatchObject({ code: "CALL_TIMEOUT" });
	expect(events.of("worker.retiring")).toMatchObject([
		{ incarnation: first, reason: "unconfirmed" },
	]);
	const next = pool.execute("whoami");
	await clock.advance(20_000);
	await other;
	expect(await next).not.toBe(first);
	expect(events.of("worker.exited")).toMatchObject([
		{ incarnation: first, reason: "recycled" },
	]);
});

test("calls that are made while a worker has not ended a cancelled one wait, and do not die with it", async () => {
	const { pool, clock, adapter, events } = await virtualPool(
		{
			commands: {
				stuck: scripts.hangIgnoringAbort,
				echo: scripts.echo,
				work: scripts.work,
			},
		},
		{ size: 1, callsPerWorker: 4, calls: { cancelGraceMs: 500 } },
	);
	const before = outcome(pool.execute("work", 400));
	const stuck = outcome(pool.execute("stuck", undefined, { timeoutMs: 100 }));
	await clock.advance(150);
	expect(await stuck).toMatchObject({ code: "CALL_TIMEOUT" });
	const later = Array.from({ length: 10 }, (_, value) =>
		outcome(pool.execute("echo", value)),
	);
	// A call of the same worker ends meanwhile: nothing takes its place.
	await clock.advance(300);
	expect(await before).toMatchObject({ kind: "value" });
	expect(pool.statistics().calls).toMatchObject({ waiting: 10, running: 1 });
	await clock.advance(1_000);
	expect(await Promise.all(later)).toEqual(
		later.map((_, value) => ({ kind: "value", value })),
	);
	expect(adapter.workers).toHaveLength(2);
	expect(events.of("worker.exited")).toMatchObject([{ reason: "stuck" }]);
	expect(events.of("call.retried")).toEqual([]);
});

test("a worker takes calls again in the moment in which its cancelled one ends", async () => {
	const { pool, clock, adapter } = await virtualPool(
		{
			commands: {
				slow: ({ worker }) => worker.process.sleep(250),
				echo: scripts.echo,
			},
		},
		{ size: 1, callsPerWorker: 2, calls: { cancelGraceMs: 500 } },
	);
	const slow = outcome(pool.execute("slow", undefined, { timeoutMs: 100 }));
	await clock.advance(150);
	await slow;
	const next = outcome(pool.execute("echo", 1));
	await clock.advance(99);
	expect(pool.statistics().calls.waiting).toBe(1);
	await clock.advance(1);
	expect(await next).toEqual({ kind: "value", value: 1 });
	expect(adapter.workers).toHaveLength(1);
});

test("calls that wait in a worker whose call is cancelled are taken back, and none is prefetched meanwhile", async () => {
	const { pool, clock, adapter } = await virtualPool(
		{
			commands: { echo: scripts.echo, stuck: scripts.hangIgnoringAbort },
			prefetch: { gapMs: 0 },
		},
		{ size: 1, calls: { cancelGraceMs: 500 } },
	);
	for (let n = 0; n < 20; n++) await pool.execute("echo", n);
	// Quick until this one.
	const quick = Array.from({ length: 8 }, () => pool.execute("echo", 1));
	await Promise.all(quick);
	const abort = new AbortController();
	const { signal } = abort;
	const stuck = outcome(pool.execute("stuck", 1, { signal }));
	const behind = [1, 2].map((value) => outcome(pool.execute("echo", value)));
	abort.abort();
	expect(await stuck).toMatchObject({ code: "CALL_ABORTED" });
	const later = [3, 4].map((value) => outcome(pool.execute("echo", value)));
	expect(adapter.living()[0]?.callsRunning).toBe(1);
	await clock.advance(2_000);
	expect(await Promise.all([...behind, ...later])).toEqual(
		[1, 2, 3, 4].map((value) => ({ kind: "value", value })),
	);
});

/** Makes calls that end by their deadline, one after the other. */
async function cancelSome(
	{ pool, clock }: Pick<VirtualPool, "pool" | "clock">,
	calls: number,
	command = "hang",
): Promise<void> {
	for (let call = 0; call < calls; call++) {
		const ended = outcome(pool.execute(command, undefined, { timeoutMs: 10 }));
		await clock.advance(11);
		expect(await ended).toMatchObject({ code: "CALL_TIMEOUT" });
	}
}

test("a worker whose calls only ever time out is replaced after eight, and the event says why", async () => {
	const scene = await virtualPool({
		commands: { hang: scripts.hang, whoami: scripts.whoami },
	});
	const { pool, clock, adapter, events } = scene;
	const first = adapter.workers[0]?.slot.incarnation;
	await cancelSome(scene, 7);
	expect(adapter.workers).toHaveLength(1);
	await cancelSome(scene, 1);
	await clock.advance(20_000);
	expect(events.of("worker.retiring")).toMatchObject([
		{ incarnation: first, reason: "cancels" },
	]);
	expect(events.of("worker.exited")).toMatchObject([
		{ incarnation: first, reason: "recycled", callsLost: 0 },
	]);
	expect(await pool.execute("whoami")).toBe(
		adapter.workers[1]?.slot.incarnation,
	);
	expect(pool.statistics().restarts).toBe(0);
});

test("a worker that answers between cancels is kept, and one that fails may be stuck", async () => {
	const fail = () => {
		throw new Error("before it came to what is stuck");
	};
	const scene = await virtualPool({
		commands: { hang: scripts.hang, echo: scripts.echo, fail },
	});
	const { pool, clock, adapter } = scene;
	for (let round = 0; round < 3; round++) {
		await cancelSome(scene, 7);
		await pool.execute("echo", 1);
	}
	await clock.advance(20_000);
	expect(adapter.workers).toHaveLength(1);
	for (let call = 0; call < 8; call++) {
		await cancelSome(scene, 1);
		await outcome(pool.execute("fail"));
	}
	await clock.advance(20_000);
	expect(adapter.workers).toHaveLength(2);
});

test("a call that was cancelled before it began says nothing about its worker", async () => {
	const scene = await virtualPool({
		commands: { work: scripts.work, echo: scripts.echo },
	});
	const { pool, clock, adapter } = scene;
	const running = pool.execute("work", 5_000);
	await cancelSome(scene, 20, "echo");
	await clock.advance(20_000);
	await running;
	expect(adapter.workers).toHaveLength(1);
});

test("where all calls are cancelled, each successor is replaced after twice as many, and no call is lost", async () => {
	const scene = await virtualPool({
		commands: { hang: scripts.hang, echo: scripts.echo },
	});
	const { pool, clock, adapter, events } = scene;
	await cancelSome(scene, 400);
	await clock.advance(20_000);
	// After 8, 16, 32, 64 and 128, and what each served while its successor started.
	expect(adapter.workers.length).toBeGreaterThan(3);
	expect(adapter.workers.length).toBeLessThanOrEqual(6);
	expect(pool.statistics().restarts).toBe(0);
	expect(events.of("worker.exited").every((e) => e.callsLost === 0)).toBe(true);
	// One that answers has no more patience than any other.
	await pool.execute("echo", 1);
	const workers = adapter.workers.length;
	await cancelSome(scene, 8);
	await clock.advance(20_000);
	expect(adapter.workers).toHaveLength(workers + 1);
});

test("recycle.afterCancels can be switched off", async () => {
	const scene = await virtualPool(
		{ commands: { hang: scripts.hang } },
		{ recycle: { afterCancels: Number.POSITIVE_INFINITY } },
	);
	await cancelSome(scene, 100);
	await scene.clock.advance(20_000);
	expect(scene.adapter.workers).toHaveLength(1);
});
