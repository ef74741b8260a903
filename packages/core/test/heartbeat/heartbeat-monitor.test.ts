import { describe, expect, test } from "vitest";
import { answers, monitorScene, neverAnswers } from "./monitor-scene.ts";

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
