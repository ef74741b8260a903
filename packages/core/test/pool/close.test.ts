import { expect, test } from "vitest";
import { virtualPoolBench } from "../../src/testing/virtual-pool.ts";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

test("a second close that is not forced waits for the calls as the first one does", async () => {
	const { pool, clock } = await virtualPool({
		commands: { work: scripts.work },
	});
	const call = pool.execute("work", 5_000);
	const closed = pool.close();
	await clock.advance(10);
	// What `await using` calls.
	const again = pool[Symbol.asyncDispose]();
	await clock.advanceUntil(Promise.all([call, closed, again]));
});

test("a call that the close cut short says how long it was left", async () => {
	const { pool, close } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	const rejected = expect(pool.execute("hang")).rejects.toThrow(
		/was still running after 70 ms.*drainMs/,
	);
	await close({ drainMs: 70 });
	await rejected;
});

test("a second close that is forced ends calls that wait, too, at once", async () => {
	const { pool, clock } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	const calls = [1, 2].map(() => outcome(pool.execute("hang")));
	const closed = pool.close({ drainMs: 3_600_000 });
	await clock.advance(10);
	const begunMs = clock.now();
	await clock.advanceUntil(pool.close({ manner: "forced" }));
	await closed;
	expect(clock.now() - begunMs).toBeLessThan(60_000);
	expect(await Promise.all(calls)).toMatchObject([
		{ code: "POOL_CLOSED", ran: "maybe" },
		{ code: "POOL_CLOSED", ran: "no" },
	]);
});

test("a later close that gives calls less time shortens the wait of the first one, and none lengthens it", async () => {
	const { pool, clock } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	const call = outcome(pool.execute("hang"));
	const closed = pool.close({ drainMs: 30_000 });
	await clock.advance(100);
	void pool.close({ drainMs: 400 });
	void pool.close({ drainMs: 60_000 });
	await clock.advanceUntil(call);
	expect(clock.now()).toBe(500);
	expect(await call).toMatchObject({
		error: { message: expect.stringContaining("after 500 ms") },
	});
	await clock.advanceUntil(closed);
	void pool.close({ drainMs: 1 });
	expect(clock.pending()).toBe(0);
});

test("a signal that meets an orderly close gives calls its own time, ends the workers in order, and no call ends for its caller", async () => {
	const { pool, life, clock, events, host } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	let ends = 0;
	pool.execute("hang").finally(() => ends++);
	const closed = pool.close({ drainMs: 30_000 });
	await clock.advance(100);
	void life.close("gentle", 2_000, "dies");
	await clock.advanceUntil(closed);
	expect(clock.now()).toBeLessThan(5_000);
	expect(host.living()).toEqual([]);
	expect(events.of("pool.closed")).toMatchObject([{ cutShort: 1 }]);
	expect(ends).toBe(0);
	expect(clock.pending()).toBe(0);
});

test("a call that the close found waiting says so, and not that it came too late", async () => {
	const { pool, close } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	const running = outcome(pool.execute("hang"));
	const rejected = expect(pool.execute("hang")).rejects.toThrow(
		/"hang" was still waiting .* 70 ms.*drainMs/,
	);
	await close({ drainMs: 70 });
	await rejected;
	await running;
	await expect(pool.execute("hang")).rejects.toThrow(/closes with close\(\)/);
});

test("a call after close is refused, and close is idempotent", async () => {
	const { pool, close } = await virtualPool({
		commands: { echo: scripts.echo },
	});
	await close();
	expect(await outcome(pool.execute("echo", 1))).toMatchObject({
		code: "POOL_CLOSED",
		ran: "no",
	});
	expect(() => pool.session()).toThrow(
		expect.objectContaining({ code: "POOL_CLOSED" }),
	);
	await pool.close();
});

test("close lets running and waiting calls end, and then ends the workers gently", async () => {
	const { pool, clock, host, events } = await virtualPool({
		commands: { work: scripts.work },
	});
	const calls = [pool.execute("work", 100), pool.execute("work", 100)];
	const closed = pool.close();
	await clock.advance(1_000);
	await Promise.all(calls);
	await closed;
	expect(host.living()).toHaveLength(0);
	expect(events.of("worker.exited")).toMatchObject([
		{ reason: "closed", exit: { kind: "code", code: 0 }, killer: "none" },
	]);
});

test("a call that a forced close found says so", async () => {
	const { pool, close } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	const rejected = expect(pool.execute("hang")).rejects.toThrow(
		/was closed while "hang" was running: it was closed by force/,
	);
	await close({ manner: "forced" });
	await rejected;
});

test("a close that cannot end a worker does not resolve: it names what is still there, at each call of close", async () => {
	const bench = await virtualPoolBench({}, { size: 2 });
	const { pool, clock, host, events } = bench;
	const [stuck] = pool.workers();
	const pid = stuck?.pid ?? 0;
	const process = host.machine.find(pid);
	if (process === undefined) throw new Error("no worker");
	process.killable = false;
	const closed = outcome(pool.close());
	const again = outcome(pool.close({ manner: "forced" }));
	await clock.advanceUntil(closed);
	const error = {
		...{ name: "CloseError", code: "STILL_THERE", ran: "maybe" },
		stillThere: [pid],
		message: expect.stringContaining(
			`of its processes worker ${stuck?.workerId} (pid ${pid}) is still there`,
		),
	};
	expect(await closed).toMatchObject({ kind: "error", error });
	expect(await again).toMatchObject({ kind: "error", error });
	expect(events.of("pool.closed")).toHaveLength(1);
});
