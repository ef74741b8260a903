import { describe, expect, test } from "vitest";
import {
	HeartbeatMonitor,
	HeartbeatRounds,
} from "../../src/heartbeat/heartbeat-monitor.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import {
	answers,
	monitorScene,
	neverAnswers,
	OPTIONS,
} from "./monitor-scene.ts";

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
