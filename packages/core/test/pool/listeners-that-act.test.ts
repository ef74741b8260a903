import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { Instrument } from "../../src/contract/instrument.ts";
import type { Pool } from "../../src/index.ts";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

/** What a listener does in the middle of an event must find the call in the state that the event reports. */
test("a call that is aborted by a listener in its dispatch is never sent, and settles once", async () => {
	const sent: unknown[] = [];
	const { pool, events, close } = await virtualPool({
		commands: {
			note: ({ args }) => {
				sent.push(args);
			},
		},
	});
	const abort = new AbortController();
	const stop = pool.on("call.dispatched", () => {
		stop();
		abort.abort();
	});
	const call = outcome(pool.execute("note", 1, { signal: abort.signal }));
	expect(await call).toMatchObject({ code: "CALL_ABORTED" });
	expect(await pool.execute("note", 2)).toBeUndefined();
	expect(sent).toEqual([2]);
	await close();
	events.assertPaired();
	expect(events.of("call.settled")).toHaveLength(2);
	expect(events.of("call.released")).toHaveLength(2);
});

test("a call that is aborted by a listener in its retry is not made again", async () => {
	const { pool, clock, events, close } = await virtualPool({
		commands: { crash: scripts.crash, echo: scripts.echo },
	});
	const abort = new AbortController();
	pool.on("call.retried", () => abort.abort());
	const call = outcome(
		pool.execute("crash", 1, { signal: abort.signal, retry: { attempts: 4 } }),
	);
	await clock.advance(20_000);
	expect(await call).toMatchObject({ code: "CALL_ABORTED" });
	expect(await pool.execute("echo", 1)).toBe(1);
	await close();
	events.assertPaired();
	expect(events.of("call.settled")).toHaveLength(2);
	expect(events.of("call.dispatched")).toHaveLength(2);
});

test("a call that is made by a listener of a dispatch finds the slot taken", async () => {
	const { pool, clock } = await virtualPool({
		commands: { work: scripts.work },
	});
	let second: Promise<unknown> | undefined;
	const stop = pool.on("call.dispatched", () => {
		stop();
		second = pool.execute("work", 10);
	});
	const first = pool.execute("work", 10);
	expect(pool.statistics()).toMatchObject({
		calls: { running: 1, waiting: 1 },
	});
	await clock.advance(100);
	await Promise.all([first, second]);
});

test("a misspelt event is an error of pool.on, not a listener that is never called", async () => {
	const { pool } = await virtualPool({ commands: {} });
	expect(() => pool.on("worker.exitted" as never, () => {})).toThrow(
		'Did you mean "worker.exited"?',
	);
});

test("a pool that a listener closes as an idle worker leaves looks for idle workers no more", async () => {
	const { pool, clock } = await virtualPool(
		{ commands: { echo: scripts.echo } },
		{ size: { min: 0, max: 1, idleMs: 1_000 } },
	);
	const closing = Promise.withResolvers<void>();
	pool.on("worker.retiring", () =>
		closing.resolve(pool.close({ manner: "forced" })),
	);
	const call = pool.execute("echo", 1);
	await clock.advance(10);
	expect(await call).toBe(1);
	await clock.advanceUntil(closing.promise);
	await clock.advance(60_000);
	expect(clock.pending()).toBe(0);
});

test("a pool that a listener closes at once when its restart budget is spent starts no worker any more", async () => {
	const { pool, clock, host } = await virtualPool(
		{ commands: { crash: scripts.crash, hang: scripts.hang } },
		{ size: { min: 0, max: 3 }, start: { maxRestarts: 0 } },
	);
	const closing = Promise.withResolvers<void>();
	pool.on("pool.restart_budget_spent", () =>
		closing.resolve(pool.close({ manner: "forced" })),
	);
	await clock.advanceUntil(outcome(pool.execute("crash")));
	pool.pause();
	const calls = [1, 2, 3].map(() => outcome(pool.execute("hang")));
	// The first slot may start no worker any more, but the two others may.
	pool.resume();
	await clock.advanceUntil(closing.promise);
	expect(await Promise.all(calls)).toMatchObject(
		calls.map(() => ({ code: "RESTART_BUDGET_SPENT", ran: "no" })),
	);
	expect(host.living()).toEqual([]);
	await clock.advance(600_000);
	expect(host.living()).toEqual([]);
	expect(clock.pending()).toBe(0);
});

for (const { what, act } of [
	{
		what: "aborted",
		act: (_pool: Pick<Pool, "close">, abort: AbortController) => abort.abort(),
	},
	{
		what: "cut by a forced close",
		act: (pool: Pick<Pool, "close">) =>
			void pool.close({ manner: "forced" }).catch(() => {}),
	},
])
	test(`a call that is ${what} by a listener of its retry is not made again after the pause`, async () => {
		const { pool, clock, events, close } = await virtualPool({
			commands: { crash: scripts.crash },
		});
		const abort = new AbortController();
		pool.on("call.retried", () => act(pool, abort));
		const call = outcome(
			pool.execute("crash", 1, {
				signal: abort.signal,
				retry: { attempts: 4, backoffMs: 100 },
			}),
		);
		await clock.advance(20_000);
		expect(await call).toMatchObject({ kind: "error" });
		await close();
		events.assertPaired();
		expect(events.of("call.settled")).toHaveLength(1);
		expect(events.of("call.dispatched")).toHaveLength(1);
		expect(getEventListeners(abort.signal, "abort")).toEqual([]);
	});

test("what a listener of pool.resumed and pool.resized does comes after the change, and so does its event", async () => {
	const { pool, clock, events } = await virtualPool(
		{ commands: { echo: scripts.echo } },
		{ size: { min: 1, max: 2 } },
	);
	pool.pause();
	const stop = pool.on("pool.resumed", () => {
		stop();
		pool.pause();
	});
	const call = pool.execute("echo", 1);
	pool.resume();
	expect(pool.statistics().dispatch).toBe("paused");
	expect(
		events.types().filter((type) => /pool\.(paus|resum)ed/.test(type)),
	).toEqual(["pool.paused", "pool.resumed", "pool.paused"]);
	pool.resume();
	const stopped = pool.on("pool.resized", () => {
		stopped();
		pool.resize({ max: 2 });
	});
	pool.resize({ max: 3 });
	expect(pool.statistics().size).toEqual({ min: 1, max: 2 });
	expect(events.of("pool.resized").map(({ max }) => max)).toEqual([3, 2]);
	await clock.advance(100);
	expect(await call).toBe(1);
});

test("a call that a listener of its acceptance cuts by a forced close leaves nothing on its signal", async () => {
	const { pool, clock } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	const { signal } = new AbortController();
	let closed: Promise<void> | undefined;
	pool.on("call.accepted", () => {
		closed ??= pool.close({ manner: "forced" });
	});
	const call = outcome(pool.execute("hang", 1, { signal, timeoutMs: 60_000 }));
	await clock.advance(30_000);
	await closed;
	expect(await call).toMatchObject({ code: "POOL_CLOSED" });
	expect(getEventListeners(signal, "abort")).toEqual([]);
	expect(clock.pending()).toBe(0);
});

test("a forced close by a listener of an orderly one need not wait for calls that no worker will run", async () => {
	const { pool, clock } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	const call = outcome(pool.execute("hang", 1));
	pool.on("pool.closing", () => void pool.close({ manner: "forced" }));
	const begunMs = clock.now();
	await clock.advanceUntil(pool.close({ drainMs: 30_000 }));
	expect(clock.now() - begunMs).toBeLessThan(10_000);
	expect(await call).toMatchObject({ code: "POOL_CLOSED" });
});

test("a listener of worker.ready finds the worker in its place: it can recycle it, and make the pool smaller", async () => {
	const { pool, clock, events, host } = await virtualPool(
		{ commands: { echo: scripts.echo } },
		{ size: { min: 0, max: 2 } },
	);
	let recycled: Promise<unknown> | undefined;
	const stop = pool.on("worker.ready", ({ workerId }) => {
		stop();
		recycled = outcome(pool.recycle(workerId));
	});
	pool.resize({ min: 1 });
	await clock.advance(60_000);
	expect(await recycled).toMatchObject({ kind: "value" });
	expect(events.of("worker.exited")).toMatchObject([{ reason: "recycled" }]);
	expect(host.living()).toHaveLength(1);
	const once = pool.on("worker.ready", () => {
		once();
		pool.resize({ min: 1, max: 1 });
	});
	pool.resize({ min: 2 });
	await clock.advance(60_000);
	expect(pool.statistics().size.max).toBe(1);
	expect(host.living()).toHaveLength(1);
});

test("a pool that a listener closes as its recycling or restart is requested starts nothing any more", async () => {
	for (const what of ["recycle", "restart"] as const) {
		const { pool, clock, events, host } = await virtualPool({ commands: {} });
		let closed: Promise<void> | undefined;
		pool.on(`pool.${what}_requested`, () => {
			closed ??= pool.close({ manner: "forced" });
		});
		const asked = outcome(pool[what](`${pool.name}-0`));
		await clock.advance(60_000);
		await closed;
		expect(await asked).toMatchObject({ code: "POOL_CLOSED" });
		expect(host.living()).toEqual([]);
		expect(events.of("worker.spawned")).toHaveLength(1);
	}
});

test("a stream that is left by a listener of its acceptance is ended", async () => {
	const { pool, clock, events } = await virtualPool({
		commands: { count: scripts.count },
	});
	const stream = pool.stream("count", 5);
	pool.on("call.accepted", () => void stream.return?.());
	void outcome(stream.next());
	await clock.advance(1_000);
	expect(pool.statistics().calls).toMatchObject({ running: 0, waiting: 0 });
	expect(events.of("call.settled")).toMatchObject([{ code: "CALL_ABORTED" }]);
});

test("a call that its instrument aborts in the middle of a retry is not made again after the pause", async () => {
	const abort = new AbortController();
	const attempt = {
		traceContext: {},
		backCall: <T>(_: unknown, run: () => Promise<T>) => run(),
		cancelled: () => {},
		released: () => {},
	};
	const instrument: Instrument = {
		attach: () => ({
			hear: () => {},
			accept: () => ({
				queued: () => {},
				dispatched: () => attempt,
				retried: () => abort.abort(),
				settled: () => {},
			}),
		}),
	};
	const { pool, clock, events, close } = await virtualPool(
		{ commands: { crash: scripts.crash } },
		{ instruments: [instrument] },
	);
	const call = outcome(
		pool.execute("crash", 1, {
			signal: abort.signal,
			retry: { attempts: 4, backoffMs: 100 },
		}),
	);
	await clock.advance(20_000);
	expect(await call).toMatchObject({ code: "CALL_ABORTED" });
	await close();
	events.assertPaired();
	expect(events.of("call.settled")).toHaveLength(1);
	expect(events.of("call.dispatched")).toHaveLength(1);
});
