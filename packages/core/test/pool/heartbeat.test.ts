import { expect, test } from "vitest";
import { neverAnswers } from "../../src/testing/scripted-adapter.ts";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

const heartbeat = {
	intervalMs: 1_000,
	hungAfterMs: 5_000,
};

test("a worker that hangs is replaced, and the error of its call says that it hung", async () => {
	let hangs = true;
	const { pool, clock, events } = await virtualPool(
		{
			commands: { stuck: scripts.hangIgnoringAbort, echo: scripts.echo },
			ping: () => (hangs ? neverAnswers() : { callsRunning: 0 }),
		},
		{ heartbeat },
	);
	const stuck = outcome(pool.execute("stuck"));
	await clock.advance(7_000);
	hangs = false;
	await clock.advance(5_000);
	expect(await stuck).toMatchObject({ code: "WORKER_HUNG", ran: "maybe" });
	expect(events.of("heartbeat.hung")).toHaveLength(1);
	expect(await pool.execute("echo", 1)).toBe(1);
});

test("health and a forced ping can be asked for", async () => {
	const { pool, clock } = await virtualPool({ commands: {} }, { heartbeat });
	await clock.advance(3_000);
	expect(pool.workers()[0]?.heartbeat).toMatchObject({
		status: "healthy",
		sent: 3,
		answered: 3,
		missed: 0,
	});
	expect(await pool.ping("scripted-0")).toBe(0);
	expect(await pool.ping("nobody")).toBeUndefined();
});

test("a forced ping asks the worker that has the id now, and not the one that it replaced", async () => {
	const asked: number[] = [];
	const { pool, clock } = await virtualPool(
		{
			commands: { work: scripts.work },
			ping: ({ number, callsRunning }) => {
				asked.push(number);
				return { callsRunning };
			},
		},
		{ heartbeat: { intervalMs: 3_600_000 } },
	);
	const call = pool.execute("work", 10_000);
	await clock.advance(1);
	const recycled = pool.recycle("scripted-0");
	await clock.advance(100);
	expect(pool.workers().map(({ state }) => state)).toEqual([
		"draining",
		"ready",
	]);
	asked.length = 0;
	await pool.ping("scripted-0");
	expect(asked).toEqual([2]);
	await clock.advanceUntil(Promise.all([call, recycled]));
});

test("a forced ping holds the program open until it is over, a heartbeat does not", async () => {
	const answers = [Promise.withResolvers<{ callsRunning: number }>()];
	const { pool, host, clock } = await virtualPool(
		{ commands: {}, ping: () => answers[0]?.promise ?? neverAnswers() },
		{ heartbeat },
	);
	expect(host.keptAlive).toBe(0);
	const ping = pool.ping("scripted-0");
	expect(host.keptAlive).toBe(1);
	answers[0]?.resolve({ callsRunning: 0 });
	expect(await ping).toBe(0);
	expect(host.keptAlive).toBe(0);
	answers.pop();
	await clock.advance(1_200);
	expect(pool.workers()[0]?.heartbeat).toMatchObject({ sent: 2, answered: 1 });
	expect(host.keptAlive).toBe(0);
	expect(await pool.ping("nobody")).toBeUndefined();
	expect(host.keptAlive).toBe(0);
});

test("workers are asked together, also one that became ready later", async () => {
	const { pool, clock, adapter, events } = await virtualPool(
		{ commands: {} },
		{ size: 2, heartbeat },
	);
	await clock.advance(300);
	adapter.living()[0]?.crash();
	await clock.advance(10_000);
	const late = pool.workers().map(({ readyMs }) => readyMs);
	expect(new Set(late).size).toBe(2);
	const [before, last] = events.of("heartbeat.sent").slice(-2);
	expect(last?.wallMs).toBe(before?.wallMs);
	expect(last?.workerId).not.toBe(before?.workerId);
});
