import { describe, expect, test } from "vitest";
import { answers, monitorScene, neverAnswers } from "./monitor-scene.ts";

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
