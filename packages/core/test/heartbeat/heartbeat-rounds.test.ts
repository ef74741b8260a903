import { describe, expect, test } from "vitest";
import {
	HeartbeatMonitor,
	HeartbeatRounds,
	MOST_IN_A_ROUND,
} from "../../src/heartbeat/heartbeat-monitor.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import { neverAnswers, OPTIONS } from "./monitor-scene.ts";

const INTERVAL_MS = 2_000;

/** Workers that note when they are asked. */
function scene() {
	const clock = new VirtualClock();
	const rounds = new HeartbeatRounds(clock);
	const asked: { readonly who: number; readonly atMs: number }[] = [];
	let joined = 0;
	return {
		clock,
		rounds,
		join: () => {
			const who = joined++;
			return rounds.join(INTERVAL_MS, () =>
				asked.push({ who, atMs: clock.now() }),
			);
		},
		/** When this one was asked. */
		times: (who: number) =>
			asked.filter((each) => each.who === who).map(({ atMs }) => atMs),
		/** How many were asked at each moment at which any was. */
		together: () => {
			const moments = new Map<number, number>();
			for (const { atMs } of asked)
				moments.set(atMs, (moments.get(atMs) ?? 0) + 1);
			return [...moments.values()];
		},
	};
}

describe("the workers of a pool", () => {
	test("are asked together, by one timer, though they became ready one after the other", async () => {
		const { clock, join, together } = scene();
		for (let i = 0; i < 10; i++) {
			join();
			await clock.advance(100);
		}
		expect(clock.pending()).toBe(1);
		await clock.advance(10_000);
		expect(new Set(together())).toEqual(new Set([10]));
	});

	test("are each asked once an interval, and for the first time within one", async () => {
		const { clock, join, times } = scene();
		const joinedAt: number[] = [];
		for (let i = 0; i < 50; i++) {
			joinedAt.push(clock.now());
			join();
			await clock.advance(37);
		}
		await clock.advance(20_000);
		for (const [who, atMs] of joinedAt.entries()) {
			const [first = Number.NaN, ...later] = times(who);
			expect(first - atMs).toBeGreaterThan(0);
			expect(first - atMs).toBeLessThanOrEqual(INTERVAL_MS);
			for (const [i, at] of later.entries())
				expect(at).toBeCloseTo(first + (i + 1) * INTERVAL_MS, 6);
			expect(later.length).toBeGreaterThanOrEqual(9);
		}
	});

	test("do not all wake up in one instant, however many became ready in one", async () => {
		const { clock, join, together } = scene();
		for (let i = 0; i < 100; i++) join();
		await clock.advance(INTERVAL_MS);
		expect(Math.max(...together())).toBe(MOST_IN_A_ROUND);
		expect(together().reduce((sum, each) => sum + each)).toBe(100);
		expect(clock.pending()).toBe(Math.ceil(100 / MOST_IN_A_ROUND));
	});

	test("that are gone leave their place to others, and no timer when they were the last", async () => {
		const { clock, join, together, times } = scene();
		const leave = Array.from({ length: MOST_IN_A_ROUND }, () => join());
		leave[0]?.();
		leave[0]?.();
		join();
		expect(clock.pending()).toBe(1);
		await clock.advance(INTERVAL_MS);
		expect(together()).toEqual([MOST_IN_A_ROUND]);
		expect(times(0)).toEqual([]);
		for (const each of leave) each();
		expect(clock.pending()).toBe(1);
	});

	test("may leave while they are asked", async () => {
		const clock = new VirtualClock();
		const rounds = new HeartbeatRounds(clock);
		const asked: string[] = [];
		const leaveB = { now: () => {} };
		const leaveA = rounds.join(INTERVAL_MS, () => {
			asked.push("a");
			leaveA();
			leaveB.now();
		});
		leaveB.now = rounds.join(INTERVAL_MS, () => asked.push("b"));
		await clock.advance(10_000);
		expect(asked).toEqual(["a"]);
		expect(clock.pending()).toBe(0);
	});

	test("are called with how late their round came", async () => {
		const clock = new VirtualClock();
		const late: number[] = [];
		new HeartbeatRounds(clock).join(INTERVAL_MS, (ms) => late.push(ms));
		clock.stall(INTERVAL_MS + 700);
		await clock.settle();
		await clock.advance(INTERVAL_MS);
		expect(late).toEqual([700, 0]);
	});

	test("with intervals of their own are asked at those", async () => {
		const clock = new VirtualClock();
		const rounds = new HeartbeatRounds(clock);
		const asked: string[] = [];
		rounds.join(1_000, () => asked.push("often"));
		rounds.join(INTERVAL_MS, () => asked.push("seldom"));
		await clock.advance(4_000);
		expect(asked.filter((who) => who === "often")).toHaveLength(4);
		expect(asked.filter((who) => who === "seldom")).toHaveLength(2);
	});
});

test("of workers that are pinged together only the one that hangs is judged to, and none of them when their host was blocked", async () => {
	const { world, clock, host, events } = virtualWorld();
	const rounds = new HeartbeatRounds(clock);
	const hung: string[] = [];
	const watch = (workerId: string, answers: boolean) =>
		new HeartbeatMonitor({
			ref: { pool: "p", workerId, incarnation: workerId },
			identity: host.plant({ program: (self) => self.idle() }).identity,
			ping: answers
				? () =>
						new Promise((resolve) =>
							clock.after(workerId.length, () => resolve({ callsRunning: 0 })),
						)
				: neverAnswers,
			options: OPTIONS,
			world,
			rounds,
			onHung: () => hung.push(workerId),
		});
	watch("a", true);
	watch("silent", false);
	watch("bbbb", true);
	await clock.advance(7_900);
	clock.stall(1_500);
	await clock.settle();
	expect(events.of("heartbeat.suspended")).toMatchObject([
		{ workerId: "silent", reason: "host_lagged" },
	]);
	await clock.advance(30_000);
	expect(hung).toEqual(["silent"]);
	const latency = (workerId: string) =>
		new Set(
			events
				.of("heartbeat.answered")
				.filter((event) => event.workerId === workerId)
				.map(({ latencyMs }) => latencyMs),
		);
	expect([...latency("a")]).toEqual([1]);
	expect([...latency("bbbb")]).toEqual([4]);
});
