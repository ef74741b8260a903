import { expect, test } from "vitest";
import { staysPut } from "../../src/testing/scripted-adapter.ts";
import { type ScriptedAdapterOptions, scripts } from "../../src/testing.ts";
import { outcome, type VirtualPool, virtualPool } from "./virtual-pool.ts";

const commands = {
	echo: scripts.echo,
	work: scripts.work,
	whoami: scripts.whoami,
	crash: scripts.crash,
	hang: scripts.hang,
};

type Scene = VirtualPool;

function incarnations({ pool }: Scene): readonly string[] {
	return pool.workers().map(({ incarnation }) => incarnation);
}

test("recycle replaces one worker: the new one is ready before the old one leaves, after its call", async () => {
	const scene = await virtualPool({ commands }, { size: 2 });
	const { pool, clock, events } = scene;
	const [, second] = incarnations(scene);
	const call = pool.execute("work", 500);
	const recycled = pool.recycle("scripted-0", { by: "ann" });
	await clock.advance(100);
	expect(events.of("worker.retiring")).toMatchObject([{ reason: "requested" }]);
	expect(events.of("worker.exited")).toEqual([]);
	await clock.advanceUntil(recycled);
	expect(await call).toBeUndefined();
	expect(events.of("pool.recycle_requested")).toMatchObject([
		{ pool: "scripted", by: "ann", target: "scripted-0", manner: "gentle" },
	]);
	expect(events.of("worker.exited")).toMatchObject([
		{ workerId: "scripted-0", reason: "recycled", callsLost: 0 },
	]);
	expect(incarnations(scene)).toContain(second);
	expect(pool.workers()).toHaveLength(2);
});

test("recycle of all goes from worker to worker, never with one too few, and a second request joins the first", async () => {
	const scene = await virtualPool({ commands }, { size: 3 });
	const { pool, clock, events } = scene;
	const before = incarnations(scene);
	let least = 3;
	pool.on((event) => {
		if (event.type === "worker.exited" || event.type === "worker.retiring")
			least = Math.min(least, pool.statistics().workers.ready);
	});
	const both = Promise.all([pool.recycle("all"), pool.recycle("all")]);
	await clock.advanceUntil(both);
	expect(least).toBe(3);
	expect(events.of("worker.exited").map(({ workerId }) => workerId)).toEqual([
		"scripted-0",
		"scripted-1",
		"scripted-2",
	]);
	expect(before.filter((each) => incarnations(scene).includes(each))).toEqual(
		[],
	);
});

test("recycle by force kills the old worker when the new one is ready; its call is made again where it may be", async () => {
	const { pool, clock, events } = await virtualPool({ commands });
	const lost = outcome(pool.execute("hang"));
	await clock.advance(1);
	const recycled = pool.recycle("scripted-0", { manner: "forced", by: "bob" });
	await clock.advanceUntil(recycled);
	expect(await lost).toMatchObject({ code: "WORKER_REPLACED", ran: "maybe" });
	expect(events.of("worker.condemned")).toMatchObject([
		{ reason: "recycled", message: "it was recycled by bob" },
	]);
	expect(pool.workers()).toMatchObject([{ state: "ready" }]);
});

test("a recycle by force hurries the gentle one that waits for a call", async () => {
	const { pool, clock } = await virtualPool({ commands });
	const lost = outcome(pool.execute("hang"));
	await clock.advance(1);
	const gentle = pool.recycle("scripted-0");
	await clock.advance(10_000);
	const forced = pool.recycle("scripted-0", { manner: "forced" });
	await clock.advanceUntil(Promise.all([gentle, forced]));
	expect(await lost).toMatchObject({ code: "WORKER_REPLACED" });
});

test("a recycle of all by force hurries the gentle one: the worker that it waits for, and those whose turn is later", async () => {
	const { pool, clock, events } = await virtualPool({ commands }, { size: 2 });
	const lost = [1, 2].map(() => outcome(pool.execute("hang")));
	await clock.advance(1);
	const gentle = pool.recycle("all", { by: "ann" });
	await clock.advance(10_000);
	const forced = pool.recycle("all", { manner: "forced", by: "bob" });
	await clock.advanceUntil(Promise.all([gentle, forced]));
	for (const call of await Promise.all(lost))
		expect(call).toMatchObject({ code: "WORKER_REPLACED" });
	expect(events.of("worker.condemned").map(({ message }) => message)).toEqual([
		"it was recycled by bob",
		"it was recycled by bob",
	]);
});

test("a second request for a worker that still finishes its calls joins the first: the new one stays", async () => {
	const { pool, clock, events } = await virtualPool({ commands });
	const call = pool.execute("work", 10_000);
	await clock.advance(1);
	const first = pool.recycle("scripted-0");
	await clock.advance(100);
	expect(pool.workers().map(({ state }) => state)).toEqual([
		"draining",
		"ready",
	]);
	const second = pool.recycle("scripted-0");
	await clock.advanceUntil(Promise.all([call, first, second]));
	expect(events.of("worker.starting")).toHaveLength(2);
});

test("a worker whose successor cannot start stays, and recycle throws why", async () => {
	let mayStart = true;
	const scene = await virtualPool(
		{ commands, boot: (process) => (mayStart ? undefined : process.exit(3)) },
		{ size: 2 },
	);
	const { pool, clock } = scene;
	const before = incarnations(scene);
	mayStart = false;
	const recycled = outcome(pool.recycle("all"));
	await clock.advanceUntil(recycled);
	expect(await recycled).toMatchObject({ error: { name: "StartError" } });
	expect(incarnations(scene)).toEqual(before);
});

test("restart kills a worker and starts it at once; the calls of others go on", async () => {
	const { pool, clock, events } = await virtualPool({ commands }, { size: 2 });
	const calls = [outcome(pool.execute("work", 100)), pool.execute("work", 100)];
	await clock.advance(1);
	const restarted = Promise.all([
		pool.restart("scripted-0", { by: "ann" }),
		pool.restart("scripted-0"),
	]);
	await clock.advanceUntil(restarted);
	expect(await calls[0]).toMatchObject({
		code: "WORKER_REPLACED",
		ran: "maybe",
	});
	await clock.advance(100);
	expect(await calls[1]).toBeUndefined();
	expect(events.of("pool.restart_requested")).toMatchObject([
		{ workerId: "scripted-0", by: "ann" },
		{ workerId: "scripted-0", by: "program" },
	]);
	expect(events.of("worker.exited")).toMatchObject([
		{ workerId: "scripted-0", reason: "restarted", killer: "stop_ladder" },
	]);
	expect(pool.statistics().restarts).toBe(0);
});

test("a budget that is spent again after a restart is reported again", async () => {
	let isBroken = true;
	const { pool, clock, adapter, events } = await virtualPool(
		{
			commands,
			boot: (process, attempt) =>
				isBroken && attempt > 1 ? process.exit(3) : undefined,
		},
		{ start: { maxRestarts: 3, backoffMs: 100 } },
	);
	adapter.living()[0]?.crash();
	await clock.advance(10_000);
	expect(events.of("pool.restart_budget_spent")).toHaveLength(1);
	isBroken = false;
	await clock.advanceUntil(pool.restart("scripted-0"));
	isBroken = true;
	adapter.living()[0]?.crash();
	await clock.advance(10_000);
	expect(events.of("pool.restart_budget_spent")).toHaveLength(2);
});

test("restart clears the restart budget: a pool that had given up starts all its workers again", async () => {
	let isBroken = false;
	const { pool, clock, adapter, events } = await virtualPool(
		{ commands, boot: (process) => (isBroken ? process.exit(3) : undefined) },
		{ size: 2, start: { maxRestarts: 3, backoffMs: 100 } },
	);
	isBroken = true;
	for (const worker of adapter.living()) worker.crash();
	await clock.advance(10_000);
	expect(events.of("pool.restart_budget_spent")).toHaveLength(1);
	expect(pool.workers()).toEqual([]);
	isBroken = false;
	const restarted = pool.restart("scripted-1");
	await clock.advance(50);
	await restarted;
	expect(pool.workers()).toContainEqual(
		expect.objectContaining({ workerId: "scripted-1", state: "ready" }),
	);
	await clock.advance(5_000);
	expect(pool.workers()).toMatchObject([
		{ state: "ready" },
		{ state: "ready" },
	]);
});

test("restart throws why the new worker did not start", async () => {
	let isBroken = false;
	const { pool, clock } = await virtualPool({
		commands,
		boot: (process) => (isBroken ? process.exit(3) : undefined),
	});
	isBroken = true;
	const restarted = outcome(pool.restart("scripted-0"));
	await clock.advanceUntil(restarted);
	expect(await restarted).toMatchObject({ error: { name: "StartError" } });
});

test("a program that does nothing else stays open until a worker is replaced", async () => {
	const { pool, clock, host } = await virtualPool({ commands });
	for (const act of [
		() => pool.recycle("all"),
		() => pool.restart("scripted-0"),
	]) {
		expect(host.keptAlive).toBe(0);
		const done = act();
		expect(host.keptAlive).toBe(1);
		await clock.advanceUntil(done);
	}
	expect(host.keptAlive).toBe(0);
});

test("a worker that does not exist is refused, with those that do", async () => {
	const { pool, clock } = await virtualPool(
		{ commands },
		{ size: { min: 1, max: 3 } },
	);
	for (const refused of [pool.recycle("python-0"), pool.restart("scripted-3")])
		expect(await outcome(refused)).toMatchObject({
			code: "WORKER_NOT_FOUND",
			ran: "no",
			error: {
				message: expect.stringContaining("scripted-0, scripted-1, scripted-2"),
			},
		});
	pool.resize({ max: 50 });
	expect(await outcome(pool.restart("nobody"))).toMatchObject({
		error: { message: expect.stringContaining("scripted-0 to scripted-49") },
	});
	await clock.advance(0);
});

test("a change that the pool's end overtakes throws that, and so does one after it", async () => {
	const { pool, clock, close } = await virtualPool({ commands });
	pool.execute("hang").catch(() => {});
	await clock.advance(1);
	const overtaken = [pool.recycle("all"), pool.restart("scripted-0")].map(
		outcome,
	);
	await close({ manner: "forced" });
	for (const each of [
		...overtaken,
		outcome(pool.recycle("all")),
		outcome(pool.restart("scripted-0")),
	])
		expect(await each).toMatchObject({ code: "POOL_CLOSED", ran: "no" });
	for (const late of [
		() => pool.pause(),
		() => pool.resume(),
		() => pool.resize({ max: 2 }),
	])
		expect(late).toThrow(expect.objectContaining({ code: "POOL_CLOSED" }));
});

test("options of control are checked", async () => {
	const { pool } = await virtualPool({ commands }, { size: 2 });
	const wrong: (() => unknown)[] = [
		() => pool.pause({ by: "" }),
		() => pool.resume({ who: "ann" } as object),
		() => pool.resize({ min: -1 }),
		() => pool.resize({ max: 0 }),
		() => pool.resize({ min: 3 }),
		() => pool.resize({ least: 3 } as object),
	];
	for (const each of wrong)
		expect(each).toThrow(expect.objectContaining({ name: "OptionsError" }));
	expect(await outcome(pool.recycle("all", { manner: "rude" as "gentle" }))) //
		.toMatchObject({ code: "INVALID_OPTION" });
	expect(pool.statistics()).toMatchObject({
		dispatch: "running",
		size: { min: 2, max: 2 },
	});
});

/** Brings the only worker into a state, and the pool with it. */
const STATES: Readonly<
	Record<
		"starting" | "ready" | "draining" | "stopping" | "backing off" | "gone",
		{
			readonly script?: Partial<ScriptedAdapterOptions>;
			readonly bring: (scene: Scene) => Promise<void>;
			/** Of which there is no worker to see. */
			readonly isEmpty?: true;
		}
	>
> = {
	starting: {
		script: {
			connect: ({ number, process }) =>
				number > 1 ? process.sleep(500) : undefined,
		},
		bring: async ({ adapter, clock }) => {
			adapter.workers[0]?.crash();
			await clock.advance(250);
		},
	},
	ready: { bring: async () => {} },
	draining: {
		bring: async ({ pool, clock }) => {
			pool.execute("work", 2_000).catch(() => {});
			await clock.advance(1);
			void pool.recycle("scripted-0");
			await clock.advance(100);
		},
	},
	stopping: {
		script: { leave: staysPut },
		bring: async ({ pool, clock }) => {
			void pool.recycle("scripted-0").catch(() => {});
			await clock.advance(100);
		},
	},
	"backing off": {
		isEmpty: true,
		bring: async ({ adapter, clock }) => {
			for (const _ of [1, 2]) {
				adapter.living()[0]?.crash();
				await clock.advance(1);
			}
		},
	},
	gone: {
		isEmpty: true,
		bring: async ({ pool, adapter, clock }) => {
			pool.resize({ min: 0 });
			adapter.workers[0]?.crash();
			await clock.advance(1_000);
		},
	},
};

for (const [state, { script, bring, isEmpty }] of Object.entries(STATES))
	for (const act of ["recycle", "restart", "recycle by force"] as const)
		test(`${act} of a worker that is ${state} ends with one that is ready, or with none where there was none`, async () => {
			const scene = await virtualPool({ commands, ...script });
			const { pool, clock, host, close } = scene;
			await bring(scene);
			const seen = pool.workers().map((worker) => worker.state);
			if (isEmpty) expect(seen).toEqual([]);
			else expect(seen).toContain(state);
			const twice = [1, 2].map(() =>
				outcome(
					act === "restart"
						? pool.restart("scripted-0")
						: pool.recycle("scripted-0", {
								manner: act === "recycle" ? "gentle" : "forced",
							}),
				),
			);
			const done = Promise.all(twice);
			await clock.advanceUntil(done);
			expect(await done).toMatchObject([{ kind: "value" }, { kind: "value" }]);
			await clock.advance(1_000);
			expect(pool.workers().map((worker) => worker.state)).toEqual(
				act !== "restart" && state === "gone" ? [] : ["ready"],
			);
			await close();
			expect(host.living()).toHaveLength(0);
		});
