import fc from "fast-check";
import { expect, test } from "vitest";
import {
	surplusWorkers,
	type WorkerUse,
} from "../../src/pool/workers/sizing.ts";
import { scripts } from "../../src/testing.ts";
import {
	closedVirtualPool,
	outcome,
	overConnections,
	virtualPool,
} from "./virtual-pool.ts";

const commands = {
	echo: scripts.echo,
	work: scripts.work,
	whoami: scripts.whoami,
	hang: scripts.hang,
};

const USES: readonly WorkerUse[] = ["starting", "idle", "busy", "in_session"];

test("as many workers leave as are too many, and none that is needed more than one that stays", () => {
	fc.assert(
		fc.property(
			fc.array(fc.constantFrom(...USES), { maxLength: 20 }),
			fc.integer({ min: 1, max: 25 }),
			(uses, max) => {
				const workers = uses.map((use, index) => ({ index, use }));
				const leaving = surplusWorkers(workers, max);
				expect(workers.length - leaving.length).toBe(
					Math.min(workers.length, max),
				);
				const rank = ({ use }: { readonly use: WorkerUse }): number =>
					USES.indexOf(use);
				const staying = workers.filter((each) => !leaving.includes(each));
				expect(Math.max(-1, ...leaving.map(rank))).toBeLessThanOrEqual(
					Math.min(9, ...staying.map(rank)),
				);
			},
		),
	);
});

test("a pool that becomes larger starts the minimum at once, and more for calls that wait", async () => {
	const { pool, clock, events } = await virtualPool({ commands });
	pool.resize({ min: 2, max: 4 }, { by: "ann" });
	pool.resize({ min: 2, max: 4 }, { by: "bob" });
	await clock.advance(10);
	expect(pool.workers()).toHaveLength(2);
	const calls = Array.from({ length: 8 }, () => pool.execute("work", 100));
	await clock.advance(50);
	expect(pool.workers()).toHaveLength(4);
	expect(pool.statistics().size).toEqual({ min: 2, max: 4 });
	expect(events.of("pool.resized")).toMatchObject([
		{ by: "ann", min: 2, max: 4, before: { min: 1, max: 1 } },
	]);
	await clock.advance(1_000);
	await Promise.all(calls);
});

test("a pool that becomes smaller retires idle workers at once, and busy ones after their call", async () => {
	const { pool, clock, events } = await virtualPool({ commands }, { size: 4 });
	const calls = [1, 2].map(() => pool.execute("work", 1_000));
	await clock.advance(1);
	pool.resize({ min: 1, max: 2 });
	await clock.advance(10);
	expect(pool.workers().map(({ callsRunning }) => callsRunning)).toEqual([
		1, 1,
	]);
	pool.resize({ max: 1 });
	await clock.advance(100);
	expect(pool.workers().map(({ state }) => state)).toEqual([
		"ready",
		"draining",
	]);
	await clock.advance(2_000);
	expect(await Promise.all(calls)).toEqual([undefined, undefined]);
	expect(pool.workers()).toMatchObject([{ workerId: "scripted-0" }]);
	expect(events.of("worker.retiring").map(({ reason }) => reason)).toEqual([
		"resized",
		"resized",
		"resized",
	]);
});

test("workers that start are withdrawn, which is no failure", async () => {
	const { pool, clock, events } = await virtualPool({
		commands,
		connect: ({ number, process }) =>
			number > 1 ? process.sleep(1_000) : undefined,
	});
	pool.resize({ min: 4, max: 4 });
	await clock.advance(10);
	pool.resize({ min: 1, max: 1 });
	await clock.advance(10);
	expect(pool.workers()).toMatchObject([{ state: "ready" }]);
	expect(
		events.of("worker.start_failed").map(({ error }) => error),
	).toMatchObject([1, 2, 3].map(() => ({ code: "START_WITHDRAWN" })));
	pool.resize({ min: 4, max: 4 });
	await clock.advance(2_000);
	expect(pool.workers()).toHaveLength(4);
	expect(pool.statistics().restarts).toBe(0);
});

test("a worker that a strict session needs stays until the session is over", async () => {
	const { pool, clock } = await virtualPool({ commands }, { size: 2 });
	const sessions = [1, 2].map(() => pool.session({ affinity: "strict" }));
	const homes = sessions.map((session) => session.execute("whoami"));
	await clock.advance(1);
	const [, second] = await Promise.all(homes);
	pool.resize({ min: 1, max: 1 });
	await clock.advance(20_000);
	const again = sessions[1]?.execute("whoami");
	const other = pool.execute("whoami");
	await clock.advance(1);
	expect(await again).toBe(second);
	expect(await other).not.toBe(second);
	sessions[1]?.close();
	await clock.advance(10_000);
	expect(pool.workers()).toMatchObject([{ workerId: "scripted-0" }]);
});

test("a pool that was smaller for a while has the ids of before, and adapters see how many slots there are", async () => {
	const seen: [number, number][] = [];
	const { pool, clock, adapter } = await virtualPool(
		{
			commands,
			launch: ({ index, slots }) => {
				seen.push([index, slots]);
				return {};
			},
		},
		{ size: 2 },
	);
	pool.resize({ min: 3, max: 3 });
	await clock.advance(10);
	const busy = outcome(pool.execute("hang"));
	await clock.advance(1);
	pool.resize({ min: 1, max: 1 });
	await clock.advance(1_000);
	pool.resize({ min: 3, max: 3 });
	await clock.advance(10);
	expect(pool.workers().map(({ workerId }) => workerId)).toHaveLength(3);
	expect(new Set(pool.workers().map(({ workerId }) => workerId))).toEqual(
		new Set(["scripted-0", "scripted-1", "scripted-2"]),
	);
	expect(seen.every(([index, slots]) => index < slots)).toBe(true);
	for (const worker of adapter.living()) worker.crash();
	await clock.advance(1_000);
	expect(await busy).toMatchObject({ code: "WORKER_EXITED" });
});

test("a slot that waits for its next start is not used when the pool has become smaller", async () => {
	const { pool, clock, adapter } = await virtualPool(
		{ commands },
		{ size: 3, start: { backoffMs: 1_000 } },
	);
	for (const _ of [1, 2]) {
		adapter.workers.at(-1)?.crash();
		await clock.advance(1);
	}
	expect(pool.workers()).toHaveLength(2);
	pool.resize({ min: 2, max: 2 });
	await clock.advance(10_000);
	expect(pool.workers()).toHaveLength(2);
});

test("a slot that goes with a smaller pool, while it waits for its next start, is not started", async () => {
	const { pool, clock, adapter } = await virtualPool(
		{ commands },
		{ size: 3, start: { backoffMs: 1_000 } },
	);
	for (const _ of [1, 2]) {
		adapter.workers.at(-1)?.crash();
		await clock.advance(1);
	}
	pool.resize({ min: 1, max: 2 });
	// So that there is room for one more when the pause ends.
	adapter.workers[1]?.crash();
	await clock.advance(10_000);
	const ids = (): readonly string[] =>
		pool.workers().map(({ workerId }) => workerId);
	expect(ids()).toEqual(["scripted-0"]);
	const calls = [1, 2].map(() => pool.execute("work", 100));
	await clock.advance(50);
	expect(ids()).toEqual(["scripted-0", "scripted-1"]);
	await clock.advance(1_000);
	await Promise.all(calls);
});

test("a restart starts nothing on a slot that went with a smaller pool meanwhile, and has a successor", async () => {
	const { pool, life, clock, adapter } = closedVirtualPool(
		{ commands },
		{ size: 3 },
	);
	overConnections(adapter, () => ({
		[Symbol.asyncDispose]: () =>
			new Promise((resolve) => clock.after(500, resolve)),
	}));
	await Promise.all([life.open(), clock.advance(0)]);
	const restarted = pool.restart("scripted-2");
	pool.resize({ min: 1, max: 2 });
	// It has left its slot, and its conversation is not closed yet.
	await clock.advance(200);
	pool.resize({ min: 3, max: 3 });
	await clock.advanceUntil(restarted);
	await clock.advance(5_000);
	expect(pool.workers().map(({ workerId }) => workerId)).toEqual([
		"scripted-0",
		"scripted-1",
		"scripted-2",
	]);
});

test.each([
	["resized", 1],
	["restarted", 3],
] as const)(
	"a pool that is %s while it opens, opens with %d workers",
	async (change, workers) => {
		const { pool, life, clock } = closedVirtualPool(
			{
				commands,
				connect: ({ number, process }) =>
					number > 1 ? process.sleep(1_000) : undefined,
			},
			{ size: 3 },
		);
		const opened = life.open();
		await clock.advance(10);
		const changed =
			change === "resized"
				? pool.resize({ min: 1, max: 1 })
				: pool.restart("scripted-2");
		await clock.advanceUntil(opened);
		await changed;
		await clock.advance(5_000);
		expect(pool.workers()).toMatchObject(
			[0, 1, 2]
				.slice(0, workers)
				.map((n) => ({ workerId: `scripted-${n}`, state: "ready" })),
		);
	},
);

test("a pool that becomes smaller keeps the worker that a strict session needs, and not one that is idle", async () => {
	const { pool, clock } = await virtualPool({ commands }, { size: 2 });
	const session = pool.session({ affinity: "strict" });
	const [, home] = await clock.advanceUntil(
		Promise.all([pool.execute("whoami"), session.execute("whoami")]),
	);
	expect(pool.workers()[1]?.incarnation).toBe(home);
	pool.resize({ min: 1, max: 1 });
	await clock.advance(20_000);
	expect(pool.workers()).toMatchObject([{ incarnation: home }]);
});

test("a worker that is too many, and stays for a strict session, gets no successor when it is worn", async () => {
	const { pool, clock, events } = await virtualPool(
		{ commands },
		{ size: 2, recycle: { afterMs: 60_000 } },
	);
	const sessions = [1, 2].map(() => pool.session({ affinity: "strict" }));
	await clock.advanceUntil(
		Promise.all(sessions.map((session) => session.execute("whoami"))),
	);
	pool.resize({ min: 1, max: 1 });
	for (const session of sessions) {
		await clock.advance(1);
		await clock.advanceUntil(session.execute("whoami"));
	}
	sessions[0]?.close();
	await clock.advance(120_000);
	const started = events.of("worker.starting").map(({ workerId }) => workerId);
	expect(started.filter((id) => id === "scripted-1")).toHaveLength(1);
	expect(started.length).toBeGreaterThan(2);
});

test("workers are started for calls that wait, up to the maximum, and retired when idle", async () => {
	const { pool, clock, events } = await virtualPool(
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
});

test("a pool without a minimum starts its first worker for its first call", async () => {
	const { pool, clock, events } = await virtualPool(
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
});

test("no more workers are started than calls need", async () => {
	const { pool, clock } = await virtualPool(
		{ commands },
		{ size: { min: 0, max: 10 }, callsPerWorker: 4 },
	);
	const calls = Array.from({ length: 8 }, () => pool.execute("work", 100));
	await clock.advance(50);
	expect(pool.workers()).toHaveLength(2);
	await clock.advance(200);
	await Promise.all(calls);
});

test("calls are spread over the workers before any gets a second one", async () => {
	const { pool, clock } = await virtualPool(
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
});

test("a worker that is worn by calls is replaced without a gap: the new one is ready before the old one leaves", async () => {
	const { pool, clock, events } = await virtualPool(
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
});

test("a retired worker finishes its call before it is asked to leave", async () => {
	const { pool, clock, events } = await virtualPool(
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
});

test("a worker whose group grew too large is recycled by its measured memory", async () => {
	const { clock, events, adapter } = await virtualPool(
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
});

test("a process that holds a strict session is not recycled under it", async () => {
	const { pool, clock, events } = await virtualPool(
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
});

test("a worn worker whose successor cannot be started works on, and further starts wait as those of lost workers do", async () => {
	const program = { state: "whole" as "whole" | "broken" };
	const { pool, clock, events } = await virtualPool(
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
});

test("a worker that is worn again while its successor starts gets no second one", async () => {
	const { pool, clock, events } = await virtualPool(
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
});

const order = "stop_first";

test("a worker that has something to itself is gone before another is started, after its call; calls wait meanwhile", async () => {
	const { pool, clock, host, events } = await virtualPool(
		{ commands },
		{ recycle: { order } },
	);
	let most = 0;
	pool.on((event) => {
		if (event.type === "worker.spawned")
			most = Math.max(most, host.living().length);
	});
	const begun = pool.execute("work", 500);
	const recycled = pool.recycle("scripted-0");
	await clock.advance(100);
	const waiting = pool.execute("echo", "later");
	await clock.advanceUntil(recycled);
	expect(await begun).toBeUndefined();
	expect(await waiting).toBe("later");
	expect(most).toBe(1);
	expect(events.of("worker.exited")).toMatchObject([
		{ reason: "recycled", callsLost: 0 },
	]);
	const [first, second] = events.of("worker.starting");
	expect(second).toMatchObject({ attempt: 1, replaces: first?.incarnation });
	expect(pool.statistics().restarts).toBe(0);
});

test.each(["afterCalls", "afterMs"] as const)(
	"workers that are worn at the same time by %s are replaced one after the other: never two are missing",
	async (limit) => {
		const value = { afterCalls: 2, afterMs: 60_000 }[limit];
		const { pool, clock, events } = await virtualPool(
			{ commands },
			{ size: 3, recycle: { order, [limit]: value } },
		);
		let fewest = 3;
		pool.on(() => {
			const { ready, draining } = pool.statistics().workers;
			fewest = Math.min(fewest, ready + draining);
		});
		const before = pool.workers().map(({ incarnation }) => incarnation);
		for (let round = 0; round < 20; round++) {
			await Promise.all([1, 2, 3].map((each) => pool.execute("echo", each)));
			await clock.advance(6_000);
		}
		const left = pool.workers().map(({ incarnation }) => incarnation);
		expect(before.filter((each) => left.includes(each))).toEqual([]);
		expect(fewest).toBe(2);
		expect(
			events.of("worker.exited").every(({ reason }) => reason === "recycled"),
		).toBe(true);
	},
);

test("all workers are replaced on request, one after the other", async () => {
	const { pool, clock, events } = await virtualPool(
		{ commands },
		{ size: 3, recycle: { order } },
	);
	await clock.advanceUntil(pool.recycle("all"));
	const ends = events.events.filter(
		({ type }) => type === "worker.exited" || type === "worker.ready",
	);
	expect(ends.map(({ type }) => type)).toEqual([
		...["worker.ready", "worker.ready", "worker.ready"],
		...["worker.exited", "worker.ready"],
		...["worker.exited", "worker.ready"],
		...["worker.exited", "worker.ready"],
	]);
});
