import { describe, expect, test } from "vitest";
import type { PingReply } from "../../src/contract/connection.ts";
import { monitorScene, neverAnswers } from "./monitor-scene.ts";

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
