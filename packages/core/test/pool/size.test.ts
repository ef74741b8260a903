import { expect, test } from "vitest";
import { scripts } from "../../src/testing.ts";
import { virtualPool } from "./virtual-pool.ts";

const commands = {
	work: scripts.work,
	echo: scripts.echo,
	whoami: scripts.whoami,
};

test("workers are started for calls that wait, up to the maximum, and retired when idle", async () => {
	const { pool, clock, close, events } = await virtualPool(
		{ commands },
		{ size: { min: 1, max: 3, idleMs: 10_000 } },
	);
	const calls = Array.from({ length: 8 }, () => pool.execute("work", 1_000));
	await clock.advance(500);
	expect(pool.workers()).toHaveLength(3);
	await clock.advance(5_000);
	await Promise.all(calls);
	await clock.advance(60_000);
	expect(pool.workers()).toHaveLength(1);
	expect(events.of("worker.retiring")).toMatchObject([
		{ reason: "idle" },
		{ reason: "idle" },
	]);
	await close();
	events.assertPaired();
});

test("a pool without a minimum starts its first worker for its first call", async () => {
	const { pool, clock, close, events } = await virtualPool(
		{ commands },
		{ size: { min: 0, max: 2 } },
	);
	expect(pool.workers()).toHaveLength(0);
	const call = pool.execute("echo", 1);
	// In the very turn of its call.
	expect(pool.workers()).toMatchObject([{ state: "starting" }]);
	await clock.advance(10);
	expect(await call).toBe(1);
	expect(pool.workers()).toHaveLength(1);
	const types = events.types();
	expect(types.indexOf("worker.ready")).toBeLessThan(
		types.indexOf("call.dispatched"),
	);
	await close();
});

test("no more workers are started than calls need", async () => {
	const { pool, clock, close } = await virtualPool(
		{ commands },
		{ size: { min: 0, max: 10 }, callsPerWorker: 4 },
	);
	const calls = Array.from({ length: 8 }, () => pool.execute("work", 100));
	await clock.advance(50);
	expect(pool.workers()).toHaveLength(2);
	await clock.advance(200);
	await Promise.all(calls);
	await close();
});

test("calls are spread over the workers before any gets a second one", async () => {
	const { pool, clock, close } = await virtualPool(
		{ commands },
		{ size: 3, callsPerWorker: 2 },
	);
	const calls = Array.from({ length: 4 }, () => pool.execute("work", 100));
	expect(
		pool
			.workers()
			.map(({ callsRunning }) => callsRunning)
			.sort(),
	).toEqual([1, 1, 2]);
	await clock.advance(100);
	await Promise.all(calls);
	await close();
});

test("a worker that is worn by calls is replaced without a gap: the new one is ready before the old one leaves", async () => {
	const { pool, clock, close, events } = await virtualPool(
		{ commands },
		{ recycle: { afterCalls: 3 } },
	);
	const names = new Set<unknown>();
	for (let call = 0; call < 9; call++) {
		const answer = pool.execute("whoami");
		await clock.advance(10);
		names.add(await answer);
	}
	expect(names.size).toBeGreaterThanOrEqual(3);
	const order = events.events
		.filter(({ type }) => type === "worker.ready" || type === "worker.retiring")
		.map(({ type }) => type);
	expect(order.slice(0, 3)).toEqual([
		"worker.ready",
		"worker.ready",
		"worker.retiring",
	]);
	expect(events.of("worker.retiring")[0]).toMatchObject({ reason: "calls" });
	await close();
	events.assertPaired();
});

test("a retired worker finishes its call before it is asked to leave", async () => {
	const { pool, clock, close, events } = await virtualPool(
		{ commands },
		{
			recycle: { afterMs: 10_000 },
			stop: { killAfterMs: 1_000 },
		},
	);
	await clock.advance(9_500);
	const long = pool.execute("work", 60_000);
	await clock.advance(30_000);
	const [retiring] = events.of("worker.retiring");
	expect(retiring).toMatchObject({ reason: "age" });
	const its = (event: { incarnation: string }): boolean =>
		event.incarnation === retiring?.incarnation;
	expect(events.of("worker.exited").filter(its)).toHaveLength(0);
	await clock.advance(40_000);
	expect(await long).toBeUndefined();
	expect(events.of("worker.exited").filter(its)[0]).toMatchObject({
		reason: "recycled",
		killer: "none",
		callsLost: 0,
	});
	await close();
});

test("a worker whose group grew too large is recycled by its measured memory", async () => {
	const { clock, close, events, adapter } = await virtualPool(
		{ commands },
		{ recycle: { aboveResidentBytes: 100_000_000 } },
	);
	await clock.advance(5_000);
	expect(events.of("worker.retiring")).toHaveLength(0);
	const [worker] = adapter.workers;
	if (worker !== undefined) worker.process.residentBytes = 200_000_000;
	await clock.advance(5_000);
	expect(events.of("worker.retiring")).toMatchObject([
		{ reason: "resident_memory" },
	]);
	await close();
});

test("a process that holds a strict session is not recycled under it", async () => {
	const { pool, clock, close, events } = await virtualPool(
		{ commands },
		{ recycle: { afterCalls: 1 } },
	);
	const session = pool.session({ affinity: "strict" });
	const home = await session.execute("whoami");
	await clock.advance(20_000);
	expect(await session.execute("whoami")).toBe(home);
	session.close();
	await clock.advance(5_000);
	expect(events.of("worker.retiring")).toMatchObject([{ reason: "calls" }]);
	await close();
});

test("a worn worker whose successor cannot be started works on, and further starts wait as those of lost workers do", async () => {
	const program = { state: "whole" as "whole" | "broken" };
	const { pool, clock, close, events } = await virtualPool(
		{
			commands,
			launch: () => {
				if (program.state === "broken") throw new Error("invalid syntax");
				return {};
			},
		},
		{ recycle: { afterCalls: 1 }, start: { backoffMs: 1_000 } },
	);
	program.state = "broken";
	for (let call = 0; call < 100; call++) {
		const answer = pool.execute("whoami");
		await clock.advance(10);
		await answer;
	}
	expect(events.of("worker.retiring")).toEqual([]);
	// At once, and after half a second at the earliest.
	expect(events.of("worker.start_failed").length).toBeLessThanOrEqual(2);
	program.state = "whole";
	await clock.advance(60_000);
	expect(events.of("worker.retiring")).toMatchObject([{ reason: "calls" }]);
	await close();
	events.assertPaired();
});

test("a worker that is worn again while its successor starts gets no second one", async () => {
	const { pool, clock, close, events } = await virtualPool(
		{
			commands,
			connect: ({ number, process }) =>
				number > 1 ? process.sleep(1_000) : undefined,
		},
		{ recycle: { afterCalls: 1 } },
	);
	for (const call of [1, 2, 3]) {
		expect(await pool.execute("echo", call)).toBe(call);
		await clock.advance(10);
	}
	expect(events.of("worker.starting")).toHaveLength(2);
	await clock.advance(5_000);
	expect(pool.workers()).toHaveLength(1);
	await close();
});
