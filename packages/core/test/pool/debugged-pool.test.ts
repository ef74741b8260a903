import { expect, test } from "vitest";
import { scripts } from "../../src/testing.ts";
import { closedVirtualPool, outcome, virtualPool } from "./virtual-pool.ts";

const HOUR_MS = 60 * 60 * 1_000;
const commands = { work: scripts.work };
/** Each of them would end something within a second, were the worker not debugged. */
const shortHeartbeat = {
	size: 4,
	callsPerWorker: 2,
	start: { timeoutMs: 1_000 },
	queue: { timeoutMs: 1_000 },
	calls: { timeoutMs: 1_000, cancelGraceMs: 10 },
	heartbeat: { intervalMs: 10, hungAfterMs: 10 },
	recycle: { afterMs: 1_000, afterCalls: 1 },
	stop: { drainMs: 10, killAfterMs: 10 },
};

test("calls of a debugged worker that stops for long pass no deadline, one after the other on one worker", async () => {
	const scene = await virtualPool(
		{
			commands,
			debugged: true,
			// All threads of a worker stop at a breakpoint.
			ping: () => new Promise(() => {}),
		},
		shortHeartbeat,
	);
	const { pool, clock, events } = scene;
	const options = { timeoutMs: 5, queueTimeoutMs: 5 };
	const calls = ["a", "b"].map(() => pool.execute("work", HOUR_MS, options));
	await clock.advance(1.5 * HOUR_MS);
	expect(pool.workers()).toMatchObject([{ callsRunning: 1 }]);
	await clock.advanceUntil(Promise.all(calls));
	expect(events.of("worker.spawned")).toHaveLength(1);
});

test("a debugged worker may stop in its start, after a cancel and in its end", async () => {
	const scene = closedVirtualPool(
		{
			commands,
			debugged: true,
			boot: (process) => process.sleep(HOUR_MS),
			leave: () => new Promise(() => {}),
		},
		shortHeartbeat,
	);
	const { pool, clock, life, events } = scene;
	await clock.advanceUntil(life.open());
	const cancel = new AbortController();
	const call = outcome(
		pool.execute("work", HOUR_MS, { signal: cancel.signal }),
	);
	cancel.abort();
	const closed = pool.close();
	await clock.advance(HOUR_MS / 2);
	expect(await call).toMatchObject({ code: "CALL_ABORTED" });
	expect(events.of("worker.exited")).toEqual([]);
	await clock.advanceUntil(pool.close({ manner: "forced" }));
	await closed;
	expect(pool.workers()).toEqual([]);
});
