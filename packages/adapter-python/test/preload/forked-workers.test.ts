import { expect, test } from "vitest";
import { NdArray } from "../../src/index.ts";
import { factsOfAll, openPreloaded } from "../support/preloaded-pool.ts";

test("workers are forked from what was imported once, and each is a process of its own", async () => {
	const { pool, events } = await openPreloaded({
		env: ({ index }) => ({ SEAT: String(index) }),
		threadsPerWorker: 2,
	});
	const [started] = events.of("preload.started");
	const spawned = events.of("worker.spawned");
	expect(spawned.map(({ source }) => source)).toEqual(["preload", "preload"]);
	const all = await factsOfAll(pool);
	for (const facts of all) {
		const { incarnation } = spawned.find(({ pid }) => pid === facts.pid) ?? {};
		expect(facts).toMatchObject({
			importedIn: started?.pid,
			startedIn: facts.pid,
			session: facts.pid,
			threads: "2",
			kept: '"""Tools',
			shown: {
				SNAKEPIT_RUN: expect.stringContaining(`${incarnation?.split("-")[0]}:`),
				SNAKEPIT_WORKER: incarnation,
			},
		});
	}
	expect(all.map(({ slot }) => slot).sort()).toEqual(["0", "1"]);
	// Nobody has another's random numbers.
	expect(new Set(all.flatMap(({ chance }) => chance)).size).toBe(4);
});

test("its exit is reported at once, and its output lines are its own", async () => {
	const { pool, events } = await openPreloaded({}, 1);
	const line = events.next("worker.output");
	await pool.execute("say", ["here"]);
	expect(await line).toMatchObject({
		line: "here",
		workerId: "python-0",
	});
	for (const [end, exit] of [
		[() => pool.execute("leave_with", [7]), { kind: "code", code: 7 }],
		[
			async () => process.kill(pool.workers()[0]?.pid ?? Number.NaN, "SIGSEGV"),
			{ kind: "signal", signal: "SIGSEGV" },
		],
	] as const) {
		const exited = events.next("worker.exited");
		const ready = events.next("worker.ready");
		await end().catch(() => {});
		expect(await exited).toMatchObject({ exit });
		await ready;
	}
});

test("large values go through shared memory", async () => {
	const { pool } = await openPreloaded({}, 1);
	const data = new Float64Array(100_000).fill(21);
	const result = await pool.execute("twice", [
		new NdArray("float64", [100_000], data),
	]);
	expect((result as NdArray).data[99_999]).toBe(42);
});

test("by default four workers are forked from a parent that has imported nothing of theirs", async () => {
	const { pool, events } = await openPreloaded({ preload: "auto" }, 4);
	const sources = events.of("worker.spawned").map(({ source }) => source);
	expect(sources).toEqual(Array(4).fill("preload"));
	for (const { importedIn, pid, shown } of await factsOfAll(pool, 4)) {
		expect(importedIn).toBe(pid);
		expect(shown["SNAKEPIT_WORKER"]).toBe(
			pool.workers().find((worker) => worker.pid === pid)?.incarnation,
		);
	}
});

test("by default fewer workers start by themselves, and nothing is said about it", async () => {
	const { events } = await openPreloaded({ preload: "auto" }, 3);
	const sources = events.of("worker.spawned").map(({ source }) => source);
	expect(sources).toHaveLength(3);
	expect(sources).not.toContain("preload");
	expect(events.of("preload.unavailable")).toEqual([]);
});

test("only the named modules are imported once, and the tools by each worker", async () => {
	const { pool } = await openPreloaded({ preload: { modules: ["numpy"] } });
	for (const facts of await factsOfAll(pool))
		expect(facts.importedIn).toBe(facts.pid);
});
