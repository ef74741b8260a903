import { describe, expect, test } from "vitest";
import { scripts } from "../../src/testing.ts";
import {
	closedVirtualPool,
	outcome,
	virtualPool,
	virtualPoolOver,
} from "./virtual-pool.ts";

const commands = {
	echo: scripts.echo,
	fail: scripts.fail,
	hang: scripts.hang,
	hangIgnoringAbort: scripts.hangIgnoringAbort,
	crash: scripts.crash,
};

/** Rejections are of no interest here. */
function leave(...calls: readonly Promise<unknown>[]): void {
	for (const call of calls) call.catch(() => {});
}

describe("what another process sees of a pool", () => {
	test("is its phase: starting, open, paused, closing", async () => {
		const { pool, life, endpoint, clock, close } = closedVirtualPool({
			commands,
		});
		expect(endpoint.look().phase).toBe("starting");
		await Promise.all([life.open(), clock.advance(0)]);
		expect(endpoint.look().phase).toBe("open");
		pool.pause();
		expect(endpoint.look().phase).toBe("paused");
		leave(pool.execute("hang"));
		const closed = close();
		expect(endpoint.look().phase).toBe("closing");
		await closed;
	});

	test("is what it is, and how its calls ended", async () => {
		const { pool, endpoint, clock } = await virtualPool(
			{ commands, name: "shop" },
			{ name: "till", size: { min: 1, max: 2 }, callsPerWorker: 3 },
		);
		const session = pool.session();
		await pool.execute("echo", 1);
		leave(pool.execute("fail"), pool.execute("hang", 1, { timeoutMs: 1_000 }));
		const abort = new AbortController();
		leave(pool.execute("hang", 1, { signal: abort.signal }));
		abort.abort();
		await clock.advance(1_000);
		leave(pool.execute("crash"));
		await clock.advance(1_000);
		leave(pool.execute("hang"));
		expect(endpoint.look()).toMatchObject({
			pool: "till",
			adapter: "shop",
			size: { min: 1, max: 2 },
			callsPerWorker: 3,
			workers: [{ workerId: "till-0", state: "ready" }],
			restarts: 1,
			sessions: 1,
			calls: {
				accepted: 6,
				waiting: 0,
				running: 1,
				succeeded: 1,
				failed: 2,
				aborted: 1,
				timed_out: 1,
			},
		});
		session.close();
		expect(endpoint.look().sessions).toBe(0);
	});
});

describe("what another process sees of a worker", () => {
	test("is each of its calls, the oldest first, with its session and the attempts before", async () => {
		let crashes = 1;
		const { pool, endpoint, clock } = await virtualPool(
			{
				commands: {
					...commands,
					sometimes: (call) =>
						crashes-- > 0 ? scripts.crash(call) : scripts.hang(call),
				},
			},
			{ callsPerWorker: 3 },
		);
		leave(pool.execute("sometimes", 1, { retry: { attempts: 2 } }));
		await clock.advance(1_000);
		const retriedAtMs = clock.now();
		await clock.advance(200);
		leave(pool.session({ id: "ann" }).execute("hang"));
		await clock.advance(50);
		const [worker] = endpoint.look().workers;
		expect(worker?.running).toMatchObject([
			{
				command: "sometimes",
				attempt: 2,
				sessionId: null,
				cancelled: false,
				failedAttempts: [{ workerId: "scripted-0", code: "WORKER_EXITED" }],
			},
			{
				command: "hang",
				attempt: 1,
				forMs: 50,
				sessionId: "ann",
				cancelled: false,
				failedAttempts: [],
			},
		]);
		expect(worker?.running[0]?.forMs).toBeGreaterThanOrEqual(
			clock.now() - retriedAtMs,
		);
		expect(Object.keys(worker?.running[0]?.failedAttempts[0] ?? {})).toEqual([
			"workerId",
			"waitedMs",
			"ranMs",
			"code",
			"pauseMs",
		]);
		expect(worker?.running[0]).not.toHaveProperty("startedMs");
	});

	test("is a call that is cancelled and has not finished", async () => {
		const { pool, endpoint, clock } = await virtualPool({ commands });
		const call = outcome(
			pool.execute("hangIgnoringAbort", 1, { timeoutMs: 100 }),
		);
		await clock.advance(150);
		expect(await call).toMatchObject({ code: "CALL_TIMEOUT" });
		expect(endpoint.look().workers).toMatchObject([
			{
				running: [
					{ command: "hangIgnoringAbort", cancelled: true, forMs: 150 },
				],
			},
		]);
	});

	test("is how long calls of its command usually run, and what observe.args shows of its arguments, asked once", async () => {
		const asked: unknown[] = [];
		const { pool, endpoint, clock } = await virtualPool(
			{ commands: { work: scripts.work } },
			{
				observe: {
					args: (_, args) => {
						asked.push(args);
						return { ms: args, text: "x".repeat(5_000) };
					},
				},
			},
		);
		for (const ms of [30, 10]) {
			const done = pool.execute("work", ms);
			await clock.advance(ms);
			await done;
		}
		asked.length = 0;
		leave(pool.execute("work", 60_000));
		await clock.advance(40);
		endpoint.look();
		const [call] = endpoint.look().workers[0]?.running ?? [];
		expect(call).toMatchObject({
			...{ command: "work", forMs: 40, reportedMs: null },
			...{ usual: { calls: 2, longestMs: 30 }, args: { ms: 60_000 } },
		});
		expect(JSON.stringify(call?.args).length).toBeLessThan(3_000);
		expect(asked).toEqual([60_000]);
		expect(call).not.toHaveProperty("shape");
	});

	test("is by the number of its slot, also after it was replaced", async () => {
		const { pool, endpoint, clock } = await virtualPool(
			{ commands },
			{ size: 3 },
		);
		const replaced = pool.restart("scripted-1");
		await clock.advance(10_000);
		await replaced;
		const { workers } = endpoint.look();
		expect(workers.map(({ workerId }) => workerId)).toEqual([
			...["scripted-0", "scripted-1", "scripted-2"],
		]);
	});

	test("is a hundred of its calls at most", async () => {
		const { pool, endpoint } = await virtualPool(
			{ commands },
			{ callsPerWorker: 150 },
		);
		for (let n = 0; n < 150; n++) leave(pool.execute("hang"));
		expect(endpoint.look().calls.running).toBe(150);
		expect(endpoint.look().workers[0]?.running).toHaveLength(100);
	});

	test("is what is left until it is recycled, and null for a limit that is not set", async () => {
		const { pool, endpoint, clock, close } = await virtualPool(
			{ commands },
			{
				recycle: {
					afterMs: 60_000,
					afterCalls: 5,
					aboveResidentBytes: 1_000_000_000,
				},
			},
		);
		await pool.execute("echo", 1);
		await clock.advance(10_000);
		expect(endpoint.look().workers).toMatchObject([
			{
				callsTaken: 1,
				recycle: {
					inMs: 50_000,
					inCalls: 4,
					aboveResidentBytes: 1_000_000_000,
				},
			},
		]);
		await close();
		const limitless = await virtualPool({ commands });
		expect(limitless.endpoint.look().workers).toMatchObject([
			{ recycle: { inMs: null, inCalls: null, aboveResidentBytes: null } },
		]);
	});

	test("is never less than nothing of a limit that has passed", async () => {
		const { pool, endpoint, clock } = await virtualPool(
			{ commands },
			{ recycle: { afterMs: 1_000 } },
		);
		leave(pool.execute("hang"));
		await clock.advance(60_000);
		const [old] = endpoint.look().workers;
		expect(old).toMatchObject({ state: "draining", recycle: { inMs: 0 } });
	});

	test("is null for what it does not have: a pid before its start, a heartbeat, another machine", async () => {
		const scene = closedVirtualPool(
			{ commands, connect: ({ process }) => process.sleep(500) },
			{ size: 20 },
		);
		const { endpoint, life, clock } = scene;
		const opened = life.open();
		await clock.advance(100);
		const starting = endpoint.look().workers;
		expect(starting[0]).toMatchObject({
			state: "starting",
			pid: expect.any(Number),
		});
		// So many are not started at once.
		expect(starting.at(-1)).toMatchObject({
			state: "starting",
			pid: null,
			running: [],
		});
		await clock.advanceUntil(opened);
		expect(endpoint.look().workers[0]).toMatchObject({
			state: "ready",
			location: null,
			heartbeat: null,
			usage: null,
		});
	});

	test("is the machine it runs on, and its heartbeat", async () => {
		const location = { name: "far", address: "10.0.0.2" };
		const { clock, endpoint } = await virtualPoolOver(
			() => ({ location }),
			{ commands },
			{ heartbeat: { intervalMs: 1_000 } },
		);
		await clock.advance(3_000);
		expect(endpoint.look().workers).toMatchObject([
			{ location, heartbeat: expect.objectContaining({}) },
		]);
	});
});

describe("what another process sees of a queue", () => {
	test("is its length and limit, how long the oldest call has waited, and which calls they are", async () => {
		const { pool, endpoint, clock } = await virtualPool(
			{ commands },
			{ queue: { limit: 10 } },
		);
		expect(endpoint.look().queue).toEqual({
			waiting: 0,
			limit: 10,
			counted: 0,
			oldestMs: null,
			why: null,
			byPriority: [],
			byCommand: [],
		});
		await clock.advance(1_000);
		leave(pool.execute("hang"));
		leave(pool.execute("echo", 1, { priority: 1 }));
		await clock.advance(300);
		leave(
			pool.execute("fail", 1, { priority: 5 }),
			pool.execute("fail", 1, { priority: 1 }),
		);
		await clock.advance(50);
		expect(endpoint.look().queue).toEqual({
			waiting: 3,
			limit: 10,
			counted: 3,
			oldestMs: 350,
			why: null,
			byPriority: [
				{ priority: 5, waiting: 1 },
				{ priority: 1, waiting: 2 },
			],
			byCommand: [
				{ command: "fail", waiting: 2 },
				{ command: "echo", waiting: 1 },
			],
		});
	});

	test("is a hundred commands and priorities at most, and every call that waits", async () => {
		const { pool, endpoint } = await virtualPool({ commands });
		pool.pause();
		for (let n = 0; n < 150; n++)
			leave(pool.execute(`command-${n}`, 1, { priority: n }));
		leave(pool.execute("command-149", 1, { priority: 149 }));
		const { waiting, byPriority, byCommand } = endpoint.look().queue;
		expect(waiting).toBe(151);
		expect(byPriority).toHaveLength(100);
		expect(byPriority[0]).toEqual({ priority: 149, waiting: 2 });
		expect(byPriority.at(-1)).toEqual({ priority: 50, waiting: 1 });
		expect(byCommand).toHaveLength(100);
		expect(byCommand[0]).toEqual({ command: "command-149", waiting: 2 });
	});

	test("counts the calls that were prefetched, which wait in a worker", async () => {
		const { pool, endpoint } = await virtualPool({
			commands,
			prefetch: { gapMs: 0 },
		});
		for (let n = 0; n < 20; n++) await pool.execute("echo", n);
		const calls = Array.from({ length: 5 }, (_, n) => pool.execute("echo", n));
		const { queue, workers } = endpoint.look();
		expect(queue).toMatchObject({
			waiting: 4,
			counted: 4,
			byCommand: [{ command: "echo", waiting: 4 }],
		});
		expect(workers[0]?.running).toHaveLength(1);
		await Promise.all(calls);
	});
});
