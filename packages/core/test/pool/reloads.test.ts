import { expect, test } from "vitest";
import type { ReloadablePool } from "../../src/contract/adapter.ts";
import { type ScriptedAdapterOptions, scripts } from "../../src/testing.ts";
import { closedVirtualPool, type VirtualPool } from "./virtual-pool.ts";

const commands = { work: scripts.work, crash: scripts.crash };

/** A pool whose adapter reports changes, and refuses to launch while its program is broken. */
async function watched(
	given: Parameters<typeof closedVirtualPool>[1] = {},
	script: Partial<ScriptedAdapterOptions> = {},
): Promise<
	VirtualPool & {
		readonly reload: (file?: string) => Promise<Error | undefined>;
		readonly program: { state: "whole" | "broken" };
		readonly ends: () => number;
	}
> {
	const scene = closedVirtualPool({ commands, ...script }, given);
	const { adapter } = scene;
	const program: { state: "whole" | "broken" } = { state: "whole" };
	const launch = adapter.launch.bind(adapter);
	let reloadable: ReloadablePool | undefined;
	let ends = 0;
	Object.assign(adapter, {
		launch: (...args: Parameters<typeof launch>) => {
			if (program.state === "broken") throw new Error("invalid syntax");
			return launch(...args);
		},
		watch: (pool: ReloadablePool) => {
			reloadable = pool;
			return () => void ends++;
		},
	});
	await Promise.all([scene.life.open(), scene.clock.advance(0)]);
	return {
		...scene,
		program,
		ends: () => ends,
		reload: async (file = "/project/tools.py") =>
			await reloadable?.reload([file], "kept"),
	};
}

const incarnations = ({ pool }: Pick<VirtualPool, "pool">): readonly string[] =>
	pool.workers().map(({ incarnation }) => incarnation);

test("a reload replaces every worker, and is over when the new ones are ready: old ones finish their calls", async () => {
	const scene = await watched({ size: 2 });
	const { pool, clock, events, reload } = scene;
	const before = incarnations(scene);
	const call = pool.execute("work", 60_000);
	await clock.advanceUntil(reload());
	await clock.advanceUntil(reload("/project/other.py"));
	expect(events.of("pool.reloaded")).toMatchObject([
		{ pool: "scripted", files: ["/project/tools.py"] },
		{ files: ["/project/other.py"] },
	]);
	const now = incarnations(scene);
	expect(now.filter((each) => before.includes(each))).toHaveLength(1);
	await clock.advanceUntil(call);
	await clock.advance(1_000);
	expect(incarnations(scene)).toHaveLength(2);
	expect(before.filter((each) => incarnations(scene).includes(each))).toEqual(
		[],
	);
	expect(
		events.of("worker.exited").every(({ callsLost }) => callsLost === 0),
	).toBe(true);
});

test("where no worker can be started the old ones stay and work, and the next reload tries again", async () => {
	const scene = await watched({ size: 2 });
	const { pool, clock, events, reload, program } = scene;
	const before = incarnations(scene);
	program.state = "broken";
	const error = await clock.advanceUntil(reload());
	expect(error?.message).toContain("invalid syntax");
	expect(events.of("pool.reload_failed")).toMatchObject([
		{ files: ["/project/tools.py"], error },
	]);
	expect(incarnations(scene)).toEqual(before);
	// What the first one cannot load, no other is tried with.
	expect(events.of("worker.start_failed")).toHaveLength(1);
	await clock.advanceUntil(pool.execute("work", 1));
	program.state = "whole";
	expect(await clock.advanceUntil(reload())).toBeUndefined();
	await clock.advance(1_000);
	expect(incarnations(scene).some((each) => before.includes(each))).toBe(false);
});

test("workers that died while the program was broken are there after the reload that repairs it", async () => {
	const scene = await watched({ size: 1, start: { maxRestarts: 1 } });
	const { pool, clock, events, reload, program } = scene;
	program.state = "broken";
	await pool.execute("crash").catch(() => {});
	await clock.advance(5_000);
	expect(events.of("pool.restart_budget_spent")).toHaveLength(1);
	expect(pool.workers()).toEqual([]);
	program.state = "whole";
	const before = events.of("worker.ready").length;
	expect(await clock.advanceUntil(reload())).toBeUndefined();
	expect(pool.workers()).toMatchObject([{ state: "ready" }]);
	// What was started for the reload is not replaced by it.
	expect(events.of("worker.ready")).toHaveLength(before + 1);
});

test("a pool that closes ends the watch first, and reloads no more", async () => {
	const { clock, events, close, reload, ends } = await watched();
	const late = reload();
	expect(ends()).toBe(0);
	await close();
	expect(ends()).toBe(1);
	await late;
	expect(await clock.advanceUntil(reload())).toBeUndefined();
	expect(events.of("pool.reloaded")).toEqual([]);
	expect(events.of("pool.reload_failed")).toEqual([]);
});

test("a reload starts nothing on slots that went with a smaller pool meanwhile", async () => {
	const { pool, clock, reload } = await watched(
		{ size: 3 },
		{
			connect: ({ number, process }) =>
				number > 3 ? process.sleep(1_000) : undefined,
		},
	);
	const reloaded = reload();
	await clock.advance(1);
	pool.resize({ min: 1, max: 1 });
	expect(await clock.advanceUntil(reloaded)).toBeUndefined();
	await clock.advance(5_000);
	expect(pool.workers()).toMatchObject([
		{ workerId: "scripted-0", state: "ready" },
	]);
	pool.resize({ min: 3, max: 3 });
	await clock.advance(5_000);
	expect(pool.workers()).toHaveLength(3);
});

test("a listener that closes the pool as soon as it is open ends the watch, too", async () => {
	const closing = Promise.withResolvers<void>();
	const { pool, life, adapter, clock } = closedVirtualPool(
		{ commands },
		{
			onEvent: ({ type }) => {
				if (type === "pool.started") closing.resolve(pool.close());
			},
		},
	);
	let ends = 0;
	Object.assign(adapter, { watch: () => () => void ends++ });
	await Promise.all([life.open(), clock.advance(0)]);
	await clock.advanceUntil(closing.promise);
	expect(ends).toBe(1);
});

test("an adapter that cannot watch its program has the pool closed", async () => {
	const { life, adapter, clock, host } = closedVirtualPool({ commands });
	Object.assign(adapter, {
		watch: () => {
			throw new Error("ENOSPC: no inotify watch is left");
		},
	});
	const refused = expect(life.open()).rejects.toThrow("ENOSPC");
	await clock.advance(60_000);
	await refused;
	expect(host.living()).toEqual([]);
});

test("a reload waits for no pause between starts, and what failed before it counts no more", async () => {
	const scene = await watched({ start: { backoffMs: 10_000 } });
	const { pool, clock, adapter, events, reload, program } = scene;
	program.state = "broken";
	adapter.living()[0]?.crash();
	await clock.advance(100);
	expect(events.of("worker.start_failed").length).toBeGreaterThan(0);
	expect(pool.workers()).toEqual([]);
	program.state = "whole";
	const reloaded = reload();
	await clock.advance(1);
	expect(await reloaded).toBeUndefined();
	expect(pool.workers()).toMatchObject([{ state: "ready" }]);
	// As after any first crash.
	adapter.living()[0]?.crash();
	await clock.advance(1);
	expect(pool.workers()).toMatchObject([{ state: "ready" }]);
});

test("an adapter waits on the clock of its pool before it reloads", async () => {
	let reloadable: ReloadablePool | undefined;
	const scene = closedVirtualPool({ commands });
	const { adapter, life, clock } = scene;
	Object.assign(adapter, {
		watch: (pool: ReloadablePool) => {
			reloadable = pool;
			return () => {};
		},
	});
	await Promise.all([life.open(), clock.advance(0)]);
	const done: string[] = [];
	reloadable?.after(100, () => done.push("changed"));
	reloadable?.after(100, () => done.push("cancelled")).cancel();
	await clock.advance(99);
	expect(done).toEqual([]);
	await clock.advance(1);
	expect(done).toEqual(["changed"]);
});
