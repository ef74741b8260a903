import { expect, test } from "vitest";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

const commands = {
	echo: scripts.echo,
	work: scripts.work,
	crash: scripts.crash,
	whoami: scripts.whoami,
};

test("a paused pool takes calls and sends none; what runs goes on; resumed, the most urgent runs first", async () => {
	const { pool, clock, events } = await virtualPool({ commands });
	const running = pool.execute("work", 100);
	await clock.advance(1);
	pool.pause({ by: "ann" });
	pool.pause({ by: "bob" });
	const order: unknown[] = [];
	const calls = [0, 5, 1].map((priority) =>
		pool
			.execute("echo", priority, { priority })
			.then((answer) => order.push(answer)),
	);
	await clock.advance(60_000);
	expect(await running).toBeUndefined();
	expect(events.of("call.dispatched")).toHaveLength(1);
	expect(pool.statistics()).toMatchObject({
		dispatch: "paused",
		calls: { waiting: 3, running: 0 },
	});
	pool.resume({ by: "ann" });
	pool.resume({ by: "bob" });
	await clock.advance(0);
	await Promise.all(calls);
	expect(order).toEqual([5, 1, 0]);
	expect(pool.statistics()).toMatchObject({ dispatch: "running" });
	expect(events.of("pool.paused")).toMatchObject([
		{ by: "ann", waiting: 0, running: 1 },
	]);
	expect(events.of("pool.resumed")).toMatchObject([{ by: "ann" }]);
});

test("calls that were prefetched come back, and run after the pause", async () => {
	let recalled = 0;
	const { pool, clock } = await virtualPool({
		commands,
		prefetch: { gapMs: 0, onRecalled: (calls) => (recalled += calls) },
	});
	for (let call = 0; call < 3; call++) {
		const quick = pool.execute("echo", 0);
		await clock.advance(0);
		await quick;
	}
	const calls = Array.from({ length: 6 }, (_, index) =>
		pool.execute("echo", index),
	);
	pool.pause();
	await clock.advance(1_000);
	expect(recalled).toBeGreaterThan(0);
	const { running, waiting } = pool.statistics().calls;
	expect({ running, waiting }).toEqual({ running: 0, waiting: 5 });
	pool.resume();
	await clock.advance(10);
	expect(await Promise.all(calls)).toEqual([0, 1, 2, 3, 4, 5]);
});

test("deadlines of waiting calls go on, and so does the limit of the queue", async () => {
	const { pool, clock } = await virtualPool(
		{ commands },
		{ queue: { limit: 2 } },
	);
	pool.pause();
	const late = outcome(pool.execute("echo", 1, { timeoutMs: 100 }));
	const long = outcome(pool.execute("echo", 1, { queueTimeoutMs: 200 }));
	expect(await outcome(pool.execute("echo", 1))).toMatchObject({
		code: "QUEUE_FULL",
	});
	await clock.advance(1_000);
	expect(await late).toMatchObject({ code: "CALL_TIMEOUT", ran: "no" });
	expect(await long).toMatchObject({ code: "QUEUE_TIMEOUT", ran: "no" });
});

test("workers are healed and started for the minimum, and for waiting calls only after the pause", async () => {
	const { pool, clock, adapter } = await virtualPool(
		{ commands },
		{ size: { min: 1, max: 3 } },
	);
	pool.pause();
	adapter.workers[0]?.crash();
	const calls = Array.from({ length: 6 }, () => pool.execute("work", 50));
	await clock.advance(1_000);
	expect(pool.workers()).toMatchObject([{ state: "ready", callsTaken: 0 }]);
	pool.resume();
	await clock.advance(40);
	expect(pool.workers()).toHaveLength(3);
	await clock.advance(1_000);
	await Promise.all(calls);
});

test("a call that is to be made again waits until the pool is resumed", async () => {
	let crashes = 1;
	const { pool, clock } = await virtualPool({
		commands: {
			sometimes: async (call) => {
				await call.worker.process.sleep(50);
				return crashes-- > 0 ? scripts.crash(call) : call.args;
			},
		},
	});
	const call = pool.execute("sometimes", "x", { retry: { attempts: 2 } });
	await clock.advance(1);
	pool.pause();
	await clock.advance(1_000);
	expect(pool.statistics().calls).toMatchObject({ waiting: 1, running: 0 });
	pool.resume();
	await clock.advance(100);
	expect(await call).toBe("x");
});

test("pool.map and sessions wait, too, and go on", async () => {
	const { pool, clock } = await virtualPool(
		{ commands },
		{ size: 2, queue: { limit: 0 } },
	);
	const session = pool.session({ affinity: "strict" });
	const home = session.execute("whoami");
	await clock.advance(1);
	pool.pause();
	const mapped = Array.fromAsync(pool.map("echo", [1, 2, 3]));
	await clock.advance(1_000);
	pool.resume();
	await clock.advance(10);
	expect(await mapped).toEqual([1, 2, 3]);
	const again = session.execute("whoami");
	await clock.advance(1);
	expect(await again).toBe(await home);
});

test("close of a paused pool lets waiting calls run; by force they fail and none begins", async () => {
	for (const manner of ["gentle", "forced"] as const) {
		const { pool, clock, events, close } = await virtualPool({ commands });
		pool.pause({ by: "ann" });
		const call = outcome(pool.execute("echo", 1));
		await clock.advance(10);
		await close({ manner });
		expect(await call).toMatchObject(
			manner === "gentle"
				? { kind: "value", value: 1 }
				: { code: "POOL_CLOSED", ran: "no" },
		);
		expect(events.of("pool.resumed")).toMatchObject([{ by: "close" }]);
		expect(events.of("call.dispatched")).toHaveLength(
			manner === "gentle" ? 1 : 0,
		);
	}
});
