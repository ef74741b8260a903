import { expect, test } from "vitest";
import { scripts } from "../../src/testing.ts";
import { virtualPool } from "./virtual-pool.ts";

const commands = { echo: scripts.echo, work: scripts.work };
const order = "stop_first";

test("a worker that has something to itself is gone before another is started, after its call; calls wait meanwhile", async () => {
	const { pool, clock, host, events, close } = await virtualPool(
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
	await close();
	events.assertPaired();
});

test.each(["afterCalls", "afterMs"] as const)(
	"workers that are worn at the same time by %s are replaced one after the other: never two are missing",
	async (limit) => {
		const value = { afterCalls: 2, afterMs: 60_000 }[limit];
		const { pool, clock, events, close } = await virtualPool(
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
		await close();
		events.assertPaired();
	},
);

test("all workers are replaced on request, one after the other", async () => {
	const { pool, clock, events, close } = await virtualPool(
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
	await close();
});
