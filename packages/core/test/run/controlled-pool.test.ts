import { expect, onTestFinished, test } from "vitest";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import type { Pool } from "../../src/pool/pool.ts";
import { createPool } from "../../src/run/open-run.ts";
import { isAlive, temporaryDirectory } from "../cleanup/hosts.ts";

/** Workers that sleep in a group with a child of theirs; "echo" is answered, "hang" never. */
const OPTIONS: Omit<PoolOptions, "adapter"> = {
	heartbeat: "off",
	output: { echo: "none" },
};

async function sleepers(options: Omit<PoolOptions, "adapter">): Promise<Pool> {
	const pool = await createPool({
		...OPTIONS,
		...options,
		dataDir: temporaryDirectory(),
		adapter: {
			name: "sleeps",
			launch: () => ({
				executable: "/bin/sh",
				args: ["-c", "sleep 100000 & exec sleep 100000"],
			}),
			connect: async () => ({
				execute: async (command, args) =>
					command === "hang" ? await new Promise(() => {}) : args,
				[Symbol.asyncDispose]: async () => {},
			}),
		},
	});
	onTestFinished(() => pool.close({ manner: "forced" }));
	return pool;
}

function pids(pool: Pool): readonly number[] {
	return pool
		.workers()
		.toSorted((a, b) => a.workerId.localeCompare(b.workerId))
		.flatMap(({ pid }) => pid ?? []);
}

test("recycle of all leaves other processes in the place of the old ones, which are gone and recorded", async () => {
	const pool = await sleepers({ size: 2 });
	const before = pids(pool);
	await pool.recycle("all", { by: "test" });
	expect(before.map(isAlive)).toEqual([false, false]);
	expect(pids(pool).map(isAlive)).toEqual([true, true]);
	const ended = pool.registry.list().filter(({ end }) => end !== undefined);
	expect(ended.map(({ workerId, end }) => [workerId, end?.reason])).toEqual([
		["sleeps-0", "recycled"],
		["sleeps-1", "recycled"],
	]);
});

test("restart kills a worker that is stopped, in the middle of its call, and starts another", async () => {
	const pool = await sleepers({ size: 2 });
	const [first = 0, second] = pids(pool);
	const calls = [1, 2].map(() =>
		pool.execute("hang").catch((error: unknown) => error),
	);
	process.kill(first, "SIGSTOP");
	await pool.restart("sleeps-0");
	// Which of them it has is not said: the worker that is ready first gets the first one.
	expect(await Promise.race(calls)).toMatchObject({
		code: "WORKER_REPLACED",
		message: expect.stringContaining("it was restarted by program"),
	});
	expect(isAlive(first)).toBe(false);
	expect(pids(pool)[1]).toBe(second);
	expect(await pool.execute("echo", 1)).toBe(1);
	expect(pool.registry.list()[0]?.end).toMatchObject({
		exit: { kind: "signal", signal: "SIGKILL" },
		reason: "restarted",
		killer: "stop_ladder",
		lastCommand: "hang",
	});
});

test("a pool that becomes smaller ends processes, and one that becomes larger starts them", async () => {
	const pool = await sleepers({ size: 3 });
	const before = pids(pool);
	const ended = Promise.withResolvers<void>();
	let exits = 0;
	pool.on("worker.exited", () => {
		exits++;
		if (exits === 2) ended.resolve();
	});
	pool.resize({ min: 1, max: 1 });
	await ended.promise;
	expect(before.map(isAlive)).toEqual([true, false, false]);
	const ready = Promise.withResolvers<void>();
	pool.on("worker.ready", () => ready.resolve());
	pool.resize({ min: 2, max: 2 });
	await ready.promise;
	expect(pids(pool).map(isAlive)).toEqual([true, true]);
});
