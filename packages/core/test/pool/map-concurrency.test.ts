import { describe, expect, test } from "vitest";
import { collected, commands, numbers, source } from "./map-bench.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

describe("a map has with the pool", () => {
	test.each([
		["as many items as it can run", undefined, 6],
		["as many as its caller says", 2, 2],
	])("%s at once", async (_how, concurrency, most) => {
		const { pool, clock, adapter, close } = await virtualPool(
			{ commands },
			{ size: 3, callsPerWorker: 2 },
		);
		const running: number[] = [];
		const results = collected(
			pool.map("take", Array(40).fill(10), {
				concurrency,
				onProgress: (progress) => running.push(progress.running),
			}),
		);
		await clock.advance(5);
		const { calls } = pool.statistics();
		expect(calls.running + calls.waiting).toBe(most);
		await clock.advanceUntil(results);
		expect(Math.max(...running)).toBeLessThan(most);
		const busiest = adapter.workers.map((each) => each.mostCallsRunning);
		expect(Math.max(...busiest)).toBeLessThanOrEqual(2);
		await close();
	});

	test("no more than twice that before a consumer that waits, whose input waits too", async () => {
		const { pool, clock, close } = await virtualPool({ commands }, { size: 3 });
		const { seen, items } = source(numbers(1_000));
		const results = pool.map("echo", items);
		expect((await results.next()).value).toBe(0);
		await clock.advance(1_000);
		// One is handed over, six are held back.
		expect(seen.taken).toBe(7);
		for (const expected of [1, 2, 3])
			expect((await results.next()).value).toBe(expected);
		await clock.settle();
		expect(seen.taken).toBe(10);
		await results.return?.();
		await close();
	});

	test("other items while the first one is slow", async () => {
		const { pool, clock, close } = await virtualPool({ commands }, { size: 2 });
		const { seen, items } = source([1_000, ...Array(20).fill(1)]);
		const results = collected(pool.map("take", items));
		await clock.advance(900);
		expect(seen.taken).toBe(4);
		expect(await clock.advanceUntil(results)).toHaveLength(21);
		await close();
	});

	test("nothing while others fill the queue, and continues when there is room", async () => {
		const { pool, clock, close } = await virtualPool(
			{ commands },
			{ size: 1, queue: { limit: 2 } },
		);
		const others = [100, 100, 100].map((ms) => pool.execute("take", ms));
		const results = collected(pool.map("take", [1, 2, 3], { concurrency: 3 }));
		await clock.advance(50);
		expect(pool.statistics().calls.accepted).toBe(3);
		expect(await clock.advanceUntil(results)).toEqual([1, 2, 3]);
		expect(await Promise.all(others)).toEqual([100, 100, 100]);
		await close();
	});

	test("what a worker is free for, where nothing may wait", async () => {
		const { pool, clock, close } = await virtualPool(
			{ commands },
			{ size: 2, queue: { limit: 0 } },
		);
		const results = collected(
			pool.map("take", Array(9).fill(5), { concurrency: 9 }),
		);
		expect(await clock.advanceUntil(results)).toHaveLength(9);
		await close();
	});

	test("what the next worker is free for, where nothing may wait and the only worker dies", async () => {
		const { pool, adapter, clock, close } = await virtualPool(
			{ commands },
			{ queue: { limit: 0 }, start: { backoffMs: 10 } },
		);
		const busy = outcome(pool.execute("hang"));
		const mapped = outcome(collected(pool.map("take", [1, 2])));
		await clock.settle();
		adapter.workers[0]?.crash();
		expect(await clock.advanceUntil(mapped)).toMatchObject({ value: [1, 2] });
		expect(await busy).toMatchObject({ code: "WORKER_EXITED" });
		await close();
	});

	test("an error where nothing may wait, and no worker can be started any more", async () => {
		const { pool, adapter, clock, close } = await virtualPool(
			{
				commands,
				boot: (process, attempt) => (attempt > 1 ? process.exit(3) : undefined),
			},
			{ queue: { limit: 0 }, start: { backoffMs: 10 } },
		);
		const busy = outcome(pool.execute("hang"));
		const mapped = outcome(collected(pool.map("take", [1, 2])));
		await clock.settle();
		adapter.workers[0]?.crash();
		expect(await clock.advanceUntil(mapped)).toMatchObject({
			code: "QUEUE_FULL",
			error: { item: 0 },
		});
		expect(await busy).toMatchObject({ code: "WORKER_EXITED" });
		await close();
	});

	test("an error where nothing may wait, and the pool is closed while no worker is there", async () => {
		const { pool, adapter, clock, close } = await virtualPool(
			{
				commands,
				boot: (process, attempt) => (attempt > 1 ? process.exit(3) : undefined),
			},
			{ queue: { limit: 0 }, start: { backoffMs: 60_000 } },
		);
		const busy = outcome(pool.execute("hang"));
		const mapped = outcome(collected(pool.map("take", [1, 2])));
		await clock.settle();
		adapter.workers[0]?.crash();
		expect(await clock.advanceUntil(busy)).toMatchObject({
			code: "WORKER_EXITED",
		});
		await clock.advance(1);
		await close();
		expect(await mapped).toMatchObject({ code: "POOL_CLOSED" });
	});

	test("beside another one, all of both", async () => {
		const { pool, clock, close } = await virtualPool(
			{ commands },
			{ size: 2, queue: { limit: 3 } },
		);
		const both = Promise.all(
			[100, 200].map((length) =>
				collected(pool.map("take", Array(length).fill(1), { concurrency: 50 })),
			),
		);
		const [one, two] = await clock.advanceUntil(both);
		expect([one?.length, two?.length]).toEqual([100, 200]);
		await close();
	});
});
