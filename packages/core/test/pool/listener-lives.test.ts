import { getEventListeners } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import type {
	SnakepitEvent,
	SnakepitEventType,
} from "../../src/contract/events.ts";
import {
	SeededRandom,
	type VirtualPoolBench,
	virtualPoolBench,
} from "../../src/testing/virtual-pool.ts";
import { scripts } from "../../src/testing.ts";
import { Actor } from "./acting-listeners.ts";
import { expectControlled } from "./any-control.ts";

const COMMANDS = ["echo", "echo", "work", "fail", "crash", "hang", "stuck"];

/** What the last events of their kind say about the pool. */
function expectAgreement({ pool, events }: VirtualPoolBench): void {
	const { size, dispatch } = pool.statistics();
	const resized = events.of("pool.resized").at(-1);
	if (resized !== undefined)
		expect({ min: resized.min, max: resized.max }).toEqual(size);
	const turned = events.events.findLast(
		({ type }) => type === "pool.paused" || type === "pool.resumed",
	);
	expect(dispatch).toBe(turned?.type === "pool.paused" ? "paused" : "running");
	const living = new Set<string>();
	for (const event of events.events)
		if (event.type === "worker.spawned") living.add(event.incarnation);
		else if (event.type === "worker.exited") living.delete(event.incarnation);
	const workers = pool.workers().filter(({ pid }) => pid !== undefined);
	expect(new Set(workers.map(({ incarnation }) => incarnation))).toEqual(
		living,
	);
}

/** A life of a pool in which listeners of every event act, and the given others. Returns the events in which they acted. */
async function live(
	seed: number,
	moments: readonly number[],
	who: "listeners" | "instruments",
	prefetches: boolean,
): Promise<{
	acted: ReadonlySet<string>;
	seen: ReadonlySet<SnakepitEventType>;
}> {
	const random = new SeededRandom(seed);
	const actor = new Actor(random, COMMANDS, 60);
	const virtual = await virtualPoolBench(
		{
			commands: { ...scripts, stuck: scripts.hangIgnoringAbort },
			...(prefetches && { prefetch: { gapMs: 0, answerMs: 0 } }),
		},
		{
			name: "lives",
			size: { min: 2, max: 3, idleMs: 500 },
			queue: { limit: 8 },
			callsPerWorker: prefetches ? 1 : 2,
			calls: { cancelGraceMs: 100 },
			recycle: { afterCalls: 6 },
			sessions: { ttlMs: 400 },
			start: { maxRestarts: 4, backoffMs: 20 },
			heartbeat: { intervalMs: 200, hungAfterMs: 1_000 },
			...(who === "instruments" && {
				instruments: [actor.instrument(0.2)],
			}),
		},
		seed,
	);
	const { pool, clock, adapter, events, host, registry } = virtual;
	actor.pool = pool;
	const seen = new Set<SnakepitEventType>();
	const order: SnakepitEvent[] = [];
	const before = events.events.length;
	if (who === "listeners")
		pool.on((event) => {
			seen.add(event.type);
			actor.interfere(0.2);
		});
	// After one that acts.
	pool.on((event) => order.push(event));
	for (const moment of moments) {
		actor.act();
		for (let more = 0; more < moment % 4; more++) actor.execute();
		if (moment % 7 === 0) adapter.living()[moment % 2]?.crash();
		if (moment % 11 === 0) adapter.living()[0]?.breakConversation();
		if (moment % 5 === 0) await clock.advance(moment);
		expectAgreement(virtual);
	}
	await clock.advance(20);
	expectAgreement(virtual);
	const end = pool.close({ drainMs: 300 });
	const atEnd = end.then(() => ({
		living: host.living(),
		recorded: registry.living(),
		events: events.events.length,
	}));
	await clock.advanceUntil(end);
	const { living, recorded, events: told } = await atEnd;
	expect(living).toEqual([]);
	expect(recorded).toEqual([]);
	await clock.advance(3_600_000);
	// Nothing starts after the close, and nothing is reported any more.
	expect(events.events.slice(told)).toEqual([]);
	expect(host.living()).toEqual([]);
	expect(clock.pending()).toBe(0);
	expect(host.keptAlive).toBe(0);
	await Promise.all(actor.outcomes);
	expectControlled(await Promise.all(actor.controls));
	for (const { signal } of actor.aborts)
		expect(getEventListeners(signal, "abort")).toEqual([]);
	expect(pool.statistics().calls).toMatchObject({ waiting: 0, running: 0 });
	expect(
		events
			.of("call.settled")
			.map(({ callId }) => callId)
			.toSorted(),
	).toEqual(
		events
			.of("call.accepted")
			.map(({ callId }) => callId)
			.toSorted(),
	);
	expect(order).toEqual(events.events.slice(before));
	events.assertPaired();
	return { acted: actor.acted, seen };
}

for (const who of ["listeners", "instruments"] as const)
	test(`whatever ${who} do in the middle of anything, a call settles once, nothing outlives the close, and the last event says how things are`, async () => {
		const acted = new Set<string>();
		const seen = new Set<SnakepitEventType>();
		await fc.assert(
			fc.asyncProperty(
				fc.integer({ min: 1 }),
				fc.array(fc.nat(120), { minLength: 3, maxLength: 25 }),
				fc.boolean(),
				async (seed, moments, prefetches) => {
					const life = await live(seed, moments, who, prefetches);
					for (const act of life.acted) acted.add(act);
					for (const type of life.seen) seen.add(type);
				},
			),
			{
				...{ numRuns: rounds(2_000, 150), timeout: 20_000 },
				// An attempt that was over after its call had kept the program open.
				examples: [
					[1601943286, [62, 50, 45, 19, 58, 22, 4, 30, 0, 0, 120], false],
				],
			},
		);
		expect([...acted].toSorted()).toEqual([
			...["abort", "close", "close_at_once", "execute", "execute_more"],
			...["pause", "recycle", "resize", "restart", "resume", "resume_again"],
			...["session", "stream", "throw"],
		]);
		if (who === "listeners")
			expect([...seen]).toEqual(
				expect.arrayContaining([
					...["call.accepted", "call.dispatched", "call.released"],
					...["call.retried", "call.settled", "heartbeat.sent"],
					...["heartbeat.answered", "listener.threw", "pool.closed"],
					...["pool.closing", "pool.paused", "pool.recycle_requested"],
					...["pool.resized", "pool.restart_budget_spent"],
					...["pool.restart_requested", "pool.resumed", "session.ended"],
					...["session.started", "worker.condemned", "worker.exited"],
					...["worker.ready", "worker.retiring", "worker.spawned"],
					...["worker.start_failed", "worker.starting", "worker.stop_step"],
				]),
			);
	}, 600_000);
