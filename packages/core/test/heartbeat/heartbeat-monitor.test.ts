import { describe, expect, test } from "vitest";
import type { PingReply } from "../../src/contract/connection.ts";
import {
	HeartbeatMonitor,
	HeartbeatRounds,
	MOST_IN_A_ROUND,
} from "../../src/heartbeat/heartbeat-monitor.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import {
	answers,
	monitorScene,
	neverAnswers,
	OPTIONS,
} from "./monitor-scene.ts";

describe("a worker that answers", () => {
	test("is asked once an interval, and what it took is measured", async () => {
		const { clock, monitor, beats, events } = monitorScene(
			() =>
				new Promise((resolve) =>
					clock.after(30, () => resolve({ callsRunning: 0 })),
				),
		);
		await clock.advance(6_100);
		expect(beats()).toEqual(Array(3).fill(["sent", "answered"]).flat());
		expect(events.of("heartbeat.sent")[2]).toMatchObject({
			pool: "p",
			workerId: "p-0",
			incarnation: "r-1",
			sequence: 3,
		});
		expect(events.of("heartbeat.answered")[2]).toMatchObject({
			sequence: 3,
			latencyMs: 30,
		});
		expect(monitor.statistics()).toEqual({
			status: "healthy",
			sent: 3,
			answered: 3,
			missed: 0,
			missedInARow: 0,
			lastLatencyMs: 30,
			silentMs: 70,
		});
	});

	test("again after a silence is healthy again, and its misses in a row are forgotten", async () => {
		const { clock, monitor, answer, hung } = monitorScene(neverAnswers);
		await clock.advance(8_000);
		expect(monitor.statistics()).toMatchObject({
			status: "suspect",
			missedInARow: 3,
		});
		answer(answers);
		await clock.advance(2_000);
		expect(monitor.statistics()).toMatchObject({
			status: "healthy",
			missed: 4,
			missedInARow: 0,
			silentMs: 0,
		});
		expect(hung).toEqual([]);
	});
});

describe("a ping", () => {
	test("has a deadline of its own, and is aborted when that has passed", async () => {
		const signals: AbortSignal[] = [];
		const { clock, events } = monitorScene(
			(signal) => {
				signals.push(signal);
				return neverAnswers(signal);
			},
			{ pingTimeoutMs: 500 },
		);
		await clock.advance(2_499);
		expect(signals[0]?.aborted).toBe(false);
		await clock.advance(1);
		expect(signals[0]?.aborted).toBe(true);
		expect(events.of("heartbeat.missed")).toMatchObject([
			{ sequence: 1, missedInARow: 1, timeoutMs: 500 },
		]);
		await clock.advance(2_000);
		expect(signals[1]?.aborted).toBe(true);
		expect(events.of("heartbeat.missed")[1]).toMatchObject({
			sequence: 2,
			missedInARow: 2,
		});
	});

	test.each([
		["fails", async () => Promise.reject(new Error("broken pipe"))],
		[
			"throws in the same turn",
			() => {
				throw new Error("broken pipe");
			},
		],
	])(
		"that %s is missed at once, and nothing else happens",
		async (_how, ping) => {
			const { clock, beats, monitor } = monitorScene(ping);
			await clock.advance(2_000);
			expect(beats()).toEqual(["sent", "missed"]);
			expect(monitor.statistics()).toMatchObject({ missed: 1 });
			expect(clock.pending()).toBe(1);
		},
	);

	test("that is answered after its deadline stays missed", async () => {
		const { clock, beats, monitor } = monitorScene(
			() =>
				new Promise((resolve) =>
					clock.after(600, () => resolve({ callsRunning: 0 })),
				),
			{ pingTimeoutMs: 500 },
		);
		await clock.advance(3_000);
		expect(beats()).toEqual(["sent", "missed"]);
		expect(monitor.statistics()).toMatchObject({ answered: 0, missed: 1 });
	});
});

describe("a worker that hangs", () => {
	test("is found when its last answer is old enough and enough pings were missed, and reported once", async () => {
		const { clock, events, hung, monitor, answer, beats } =
			monitorScene(answers);
		await clock.advance(4_000);
		answer(neverAnswers);
		await clock.advance(9_999);
		expect([hung, monitor.statistics().status]).toEqual([[], "suspect"]);
		await clock.advance(1);
		expect(hung).toEqual([10_000]);
		expect(events.of("heartbeat.hung")).toMatchObject([
			{ silentMs: 10_000, missedInARow: 4 },
		]);
		expect(monitor.statistics()).toMatchObject({
			status: "hung",
			silentMs: 10_000,
		});
		const before = beats();
		await clock.advance(60_000);
		expect(beats()).toEqual(before);
		expect(hung).toHaveLength(1);
		expect(clock.pending()).toBe(0);
	});

	test("is not judged to hang for missed pings alone, nor for an old answer alone", async () => {
		const other = monitorScene(neverAnswers, { hungAfterMs: 60_000 });
		await other.clock.advance(59_999);
		expect(other.hung).toEqual([]);
		const forgiving = monitorScene(neverAnswers, { missedPings: 20 });
		await forgiving.clock.advance(40_000);
		expect(forgiving.hung).toEqual([]);
		await forgiving.clock.advance(2_000);
		expect(forgiving.hung).toEqual([42_000]);
	});

	test("is found once, also when several pings are outstanding", async () => {
		const { clock, hung, beats } = monitorScene(neverAnswers, {
			pingTimeoutMs: 7_000,
		});
		await clock.advance(60_000);
		expect(hung).toEqual([13_000]);
		expect(beats().at(-1)).toBe("hung");
	});
});

describe("a forced ping", () => {
	test("pings at once and resolves to how long the answer took", async () => {
		const { clock, monitor } = monitorScene(
			() =>
				new Promise((resolve) =>
					clock.after(12, () => resolve({ callsRunning: 0 })),
				),
		);
		expect(await clock.advanceUntil(monitor.forcePing())).toBe(12);
		expect(monitor.statistics()).toMatchObject({ sent: 1, answered: 1 });
	});

	test("that is not answered resolves to undefined, counts as missed, and condemns no worker", async () => {
		const { clock, monitor, hung } = monitorScene(neverAnswers, {
			intervalMs: 3_600_000,
			missedPings: 1,
			hungAfterMs: 10,
		});
		expect(await clock.advanceUntil(monitor.forcePing())).toBeUndefined();
		expect(monitor.statistics()).toMatchObject({ sent: 1, missed: 1 });
		expect(hung).toEqual([]);
	});

	test("that is answered ends a silence", async () => {
		const { clock, monitor, answer, hung } = monitorScene(neverAnswers);
		await clock.advance(9_000);
		answer(answers);
		await monitor.forcePing();
		answer(neverAnswers);
		await clock.advance(9_900);
		expect(hung).toEqual([]);
	});
});

describe("a worker that cannot be asked", () => {
	test("is healthy as long as it exists, and costs no timer", async () => {
		const { clock, monitor, beats } = monitorScene("not offered");
		expect(clock.pending()).toBe(0);
		await clock.advance(600_000);
		expect(monitor.statistics()).toMatchObject({ status: "healthy", sent: 0 });
		expect(await monitor.forcePing()).toBeUndefined();
		expect(beats()).toEqual([]);
	});
});

const REPLY: PingReply = { callsRunning: 0 };

describe("a ping", () => {
	test("that was answered is not aborted, also not when the monitor is stopped", async () => {
		const signals: AbortSignal[] = [];
		const { clock, monitor } = monitorScene(async (signal) => {
			signals.push(signal);
			return REPLY;
		});
		await clock.advance(2_000);
		monitor.stop();
		expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
	});

	test("that is missed is none in a row when a later one was answered, whatever came after that", async () => {
		const answers: ((reply: PingReply) => void)[] = [];
		const { clock, monitor } = monitorScene(
			() => new Promise((resolve) => answers.push(resolve)),
			{ intervalMs: 1_000, pingTimeoutMs: 2_500 },
		);
		await clock.advance(3_000);
		answers[2]?.(REPLY);
		await clock.settle();
		answers[0]?.(REPLY);
		await clock.settle();
		expect(monitor.statistics()).toMatchObject({ answered: 2, missed: 0 });
		await clock.advance(1_500);
		expect(monitor.statistics()).toMatchObject({
			missed: 1,
			missedInARow: 0,
		});
	});

	test("whose deadline fires late shows that the host was late, also when its rounds were in time", async () => {
		const { clock, events } = monitorScene(neverAnswers, {
			intervalMs: 2_000,
			pingTimeoutMs: 500,
		});
		await clock.advance(2_400);
		clock.stall(1_400);
		await clock.settle();
		expect(events.of("heartbeat.suspended")).toMatchObject([
			{ reason: "host_lagged" },
		]);
	});
});

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

describe("a monitor that was stopped", () => {
	test("pings no more, aborts what is outstanding, and reports nothing more", async () => {
		const signals: AbortSignal[] = [];
		const { clock, monitor, beats } = monitorScene((signal) => {
			signals.push(signal);
			return neverAnswers(signal);
		});
		await clock.advance(2_000);
		monitor.stop();
		expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
		await clock.advance(60_000);
		expect(beats()).toEqual(["sent"]);
		expect(clock.pending()).toBe(0);
	});

	test("sends no forced ping, and ends those that were forced before", async () => {
		const { clock, monitor, beats } = monitorScene(neverAnswers);
		const forced = monitor.forcePing();
		monitor.stop();
		expect(await forced).toBeUndefined();
		expect(await monitor.forcePing()).toBeUndefined();
		await clock.settle();
		expect(beats()).toEqual(["sent"]);
	});

	test("can be stopped again", () => {
		const { monitor } = monitorScene(answers);
		monitor.stop();
		monitor.stop();
	});

	test("by a listener of its heartbeat.sent sends no ping, and leaves no timer", async () => {
		const { world, clock, host, events } = virtualWorld();
		let pings = 0;
		const monitor = new HeartbeatMonitor({
			ref: { pool: "p", workerId: "p-0", incarnation: "r-1" },
			identity: host.plant({ program: (self) => self.idle() }).identity,
			ping: async () => ({ callsRunning: ++pings }),
			options: OPTIONS,
			world: {
				...world,
				emit: (event) => {
					world.emit(event);
					if (event.type === "heartbeat.sent") monitor.stop();
				},
			},
			rounds: new HeartbeatRounds(clock),
			onHung: () => undefined,
		});
		await clock.advance(10_000);
		expect(events.types()).toEqual(["heartbeat.sent"]);
		expect(pings).toBe(0);
		expect(clock.pending()).toBe(0);
	});
});

describe("a host that cannot judge", () => {
	test("because its own timers came late begins to count again", async () => {
		const { clock, events, hung, monitor } = monitorScene(neverAnswers);
		await clock.advance(9_900);
		clock.stall(1_200);
		await clock.settle();
		expect(events.of("heartbeat.suspended")).toMatchObject([
			{ reason: "host_lagged" },
		]);
		expect(monitor.statistics()).toMatchObject({
			status: "suspended",
			missedInARow: 0,
			silentMs: 11_100,
		});
		await clock.advance(9_999);
		expect(hung).toEqual([]);
		await clock.advance(2_000);
		expect(hung).toHaveLength(1);
	});

	test("is not one that was a little late", async () => {
		const { clock, hung } = monitorScene(neverAnswers);
		await clock.advance(9_900);
		clock.stall(1_000);
		await clock.settle();
		expect(hung).toHaveLength(1);
	});

	test("because the wall clock jumped, ahead or back, begins to count again", async () => {
		for (const jumpMs of [3_600_000, -3_600_000]) {
			const { clock, events, hung } = monitorScene(neverAnswers);
			await clock.advance(9_000);
			clock.jumpWall(jumpMs);
			await clock.advance(1_000);
			expect(events.of("heartbeat.suspended")).toMatchObject([
				{ reason: "clock_jumped" },
			]);
			await clock.advance(9_999);
			expect(hung).toEqual([]);
			await clock.advance(1);
			expect(hung).toEqual([20_000]);
		}
	});

	test("because a debugger is attached does not, for as long as it is", async () => {
		const { clock, host, events, hung } = monitorScene(neverAnswers);
		host.debugged = true;
		await clock.advance(600_000);
		expect(hung).toEqual([]);
		expect(events.of("heartbeat.suspended").at(-1)).toMatchObject({
			reason: "debugger",
		});
		host.debugged = false;
		await clock.advance(9_999);
		expect(hung).toEqual([]);
		await clock.advance(2_000);
		expect(hung).toHaveLength(1);
	});

	test("does not count what the worker computed before as being busy now", async () => {
		const { clock, process, events, hung } = monitorScene(neverAnswers);
		await clock.advance(3_900);
		process.cpuTimeMs = 60_000;
		clock.jumpWall(3_600_000);
		await clock.advance(10_100);
		expect(events.of("heartbeat.suspended")).toHaveLength(1);
		expect(events.of("heartbeat.busy")).toEqual([]);
		expect(hung).toEqual([14_000]);
	});

	test("is not reported while the worker answers", async () => {
		const { clock, host, beats } = monitorScene(answers);
		host.debugged = true;
		clock.stall(30_000);
		clock.jumpWall(9_000_000);
		await clock.advance(2_000);
		expect(beats()).toEqual(["sent", "answered", "sent", "answered"]);
	});

	test("is excused for what was late before this judgement, not for all times", async () => {
		const { clock, events } = monitorScene(neverAnswers);
		await clock.advance(1_900);
		clock.stall(5_000);
		await clock.advance(30_000);
		expect(events.of("heartbeat.suspended")).toHaveLength(1);
		expect(events.of("heartbeat.hung")).toHaveLength(1);
	});
});
