import { expect, test } from "vitest";
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
	const { pool, clock, events, close } = await virtualPool({
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
	await close();
	events.assertPaired();
});

test("a misspelt event is an error of pool.on, not a listener that is never called", async () => {
	const { pool, close } = await virtualPool({ commands: {} });
	expect(() => pool.on("worker.exitted" as never, () => {})).toThrow(
		'Did you mean "worker.exited"?',
	);
	await close();
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
