import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { isAlive } from "../cleanup/hosts.ts";
import { companionBench } from "./companion-bench.ts";

test("a companion is ready before the first worker starts, known to each, recorded, and ended after them", async () => {
	const { run, events, adapter, open } = await companionBench();
	const pool = await open();
	const [started] = events.of("companion.started");
	const { incarnation, directory } = adapter.slots[0]?.companion ?? {};
	expect(adapter.slots.map(({ companion }) => companion)).toEqual(
		Array(2).fill({
			...{ incarnation, directory },
			pid: started?.pid,
			ready: { secret: 42 },
		}),
	);
	expect(started).toMatchObject({ pool: "p", restarts: 0 });
	expect(run.registry.living().map(({ workerId }) => workerId)).toEqual([
		"p-companion",
		"p-0",
		"p-1",
	]);
	expect(run.registry.lookup(incarnation ?? "")).toMatchObject({
		pool: "p",
		status: "active",
		lifeline: "listening",
		identity: { pid: started?.pid },
	});
	await pool.close();
	expect(run.registry.lookup(incarnation ?? "")?.end).toMatchObject({
		exit: { kind: "code", code: 0 },
		reason: "closed",
	});
	expect(existsSync(directory ?? "")).toBe(false);
	const order = events
		.types()
		.filter((type) =>
			/^(companion|worker\.(starting|exited)|pool\.closed)/.test(type),
		);
	expect(order).toEqual([
		"companion.started",
		...Array(2).fill("worker.starting"),
		...Array(2).fill("worker.exited"),
		"companion.ended",
		"pool.closed",
	]);
	expect(events.of("companion.ended")).toMatchObject([{ how: "released" }]);
	events.assertPaired();
});

test("when it is killed, its workers end at no cost, running calls are lost, and waiting ones run with the next", async () => {
	const { run, events, adapter, open, next, signal } = await companionBench();
	const pool = await open();
	const lost = Promise.allSettled([pool.execute("a"), pool.execute("b")]);
	const waiting = pool.execute("pid");
	const pid = signal("SIGKILL");
	expect(await lost).toMatchObject(
		Array(2).fill({
			reason: {
				name: "WorkerLostError",
				code: "COMPANION_LOST",
				ran: "maybe",
				message: expect.stringContaining(
					`because its companion (pid ${pid}) was ended by SIGKILL`,
				),
			},
		}),
	);
	expect(isAlive((await waiting) as number)).toBe(true);
	expect(events.of("worker.exited").map(({ reason }) => reason)).toEqual([
		"companion_lost",
		"companion_lost",
	]);
	expect(events.of("companion.ended")).toMatchObject([
		{ pid, how: "lost", exit: { kind: "signal", signal: "SIGKILL" } },
	]);
	expect(events.of("companion.started")).toMatchObject([
		{ restarts: 0 },
		{ restarts: 1 },
	]);
	expect(events.of("pool.restart_budget_spent")).toEqual([]);
	expect(pool.statistics().restarts).toBe(0);
	const [first] = adapter.slots;
	expect(run.registry.lookup(first?.companion?.incarnation ?? "")?.end).toEqual(
		expect.objectContaining({ reason: "exited", killer: "unknown" }),
	);
	expect(adapter.slots.at(-1)?.companion?.pid).toBe(
		events.of("companion.started").at(-1)?.pid,
	);
	if (events.of("worker.ready").length < 4) await next("worker.ready");
	await pool.close();
	events.assertPaired();
});

test("one that hangs up on its workers before it ends explains their ends, too", async () => {
	const { events, open, next, has, signal } = await companionBench();
	has("lingers");
	const pool = await open({ size: 1 });
	const exited = next("worker.exited");
	const again = next("worker.ready");
	signal("SIGUSR2");
	expect(await exited).toMatchObject({
		reason: "companion_lost",
		exit: { kind: "code", code: 70 },
	});
	await again;
	await pool.close();
	events.assertPaired();
});

test("a worker that ends by itself counts as usual: its companion stays", async () => {
	const { events, open, next } = await companionBench();
	const pool = await open({ size: 1, start: { maxRestarts: 1 } });
	const exited = next("worker.exited");
	const again = next("worker.ready");
	const pid = (await pool.execute("pid")) as number;
	expect(pid).toBeGreaterThan(1);
	process.kill(pid, "SIGKILL");
	expect(await exited).toMatchObject({ reason: "exited" });
	await again;
	expect(pool.statistics().restarts).toBe(1);
	expect(events.of("companion.started")).toHaveLength(1);
	await pool.close();
});

test("a pool whose first companion cannot be started rejects with its reason, and nothing is left", async () => {
	const { run, events, open, has } = await companionBench();
	has("refuses");
	await expect(open()).rejects.toMatchObject({
		name: "StartError",
		code: "NO_COMPANY",
		message: expect.stringContaining("p-companion could not start: Nobody"),
	});
	expect(run.registry.living()).toEqual([]);
	expect(events.of("worker.starting")).toEqual([]);
	expect(events.of("companion.unavailable")).toEqual([]);
});

test("a lost one that cannot be started anew is tried again; after three failures waiting calls get the reason", async () => {
	const { events, open, next, has, hasNoMore, signal } = await companionBench();
	const pool = await open();
	has("refuses");
	const third = next("companion.unavailable", ({ failures }) => failures === 3);
	const surviving = third.then(() => pool.execute("pid"));
	signal("SIGKILL");
	await next("worker.exited");
	const failing = pool.execute("pid");
	expect(await third).toMatchObject({ pool: "p", code: "NO_COMPANY" });
	await expect(failing).rejects.toMatchObject({
		code: "NO_COMPANY",
		ran: "no",
	});
	hasNoMore("refuses");
	expect(isAlive((await surviving) as number)).toBe(true);
	await pool.close();
	events.assertPaired();
});
