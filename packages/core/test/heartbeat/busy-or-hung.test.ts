import { describe, expect, test } from "vitest";
import {
	answers,
	type MonitorScene,
	monitorScene,
	neverAnswers,
} from "./monitor-scene.ts";

describe("a worker that works", () => {
	/** Uses processor time at this share of the time that passes. */
	const uses = async (
		{ clock, process }: MonitorScene,
		share: number,
		seconds: number,
	): Promise<void> => {
		for (let second = 0; second < seconds; second++) {
			process.cpuTimeMs += 1_000 * share;
			await clock.advance(1_000);
		}
	};

	test("is busy, not hung, however long, and that is reported once", async () => {
		const scene = monitorScene(neverAnswers);
		await uses(scene, 0.4, 3_600);
		expect(scene.hung).toEqual([]);
		expect(scene.monitor.statistics().status).toBe("busy");
		expect(scene.events.of("heartbeat.busy")).toMatchObject([
			{ silentMs: 10_000 },
		]);
		const [busy] = scene.events.of("heartbeat.busy");
		// From the first ping that was missed on.
		expect(busy?.cpuAdvancedMs).toBeCloseTo(0.4 * 6_000);
	});

	test("and then does nothing is hung when it did nothing for as long as any other", async () => {
		const scene = monitorScene(neverAnswers);
		await uses(scene, 1, 60);
		await scene.clock.advance(9_999);
		expect(scene.hung).toEqual([]);
		await scene.clock.advance(2_000);
		expect(scene.hung).toEqual([70_000]);
		expect(scene.events.of("heartbeat.hung")).toMatchObject([
			{ cause: "idle", silentMs: 70_000 },
		]);
		expect(scene.events.of("heartbeat.busy")).toHaveLength(1);
	});

	test("and pauses now and then is not reported as busy again", async () => {
		const scene = monitorScene(neverAnswers);
		for (let round = 0; round < 10; round++) {
			await uses(scene, 1, 10);
			await scene.clock.advance(8_000);
		}
		expect(scene.hung).toEqual([]);
		expect(scene.events.of("heartbeat.busy")).toHaveLength(1);
	});

	test("and answers in between is reported again at its next silence", async () => {
		const scene = monitorScene(neverAnswers);
		await uses(scene, 1, 12);
		scene.answer(answers);
		await uses(scene, 1, 2);
		scene.answer(neverAnswers);
		await uses(scene, 1, 12);
		expect(scene.events.of("heartbeat.busy")).toHaveLength(2);
		expect(scene.hung).toEqual([]);
	});

	test("longer than its user allows is hung for that", async () => {
		const scene = monitorScene(neverAnswers, { busyLimitMs: 30_000 });
		await uses(scene, 1, 29);
		expect(scene.hung).toEqual([]);
		await uses(scene, 1, 2);
		expect(scene.hung).toEqual([30_000]);
		expect(scene.events.of("heartbeat.hung")).toMatchObject([
			{ cause: "busy_limit" },
		]);
	});

	test("is judged by what it does in its silence, not before", async () => {
		const { clock, process, hung, answer } = monitorScene(answers);
		process.cpuTimeMs = 50_000;
		await clock.advance(2_000);
		answer(neverAnswers);
		await clock.advance(10_000);
		expect(hung).toEqual([10_000]);
	});

	test("in a child of its group is busy too", async () => {
		const { clock, process, hung } = monitorScene(neverAnswers);
		const child = process.fork((self) => self.idle());
		for (let second = 0; second < 60; second++) {
			child.cpuTimeMs += 500;
			await clock.advance(1_000);
		}
		expect(hung).toEqual([]);
		child.exit(0);
		await clock.advance(14_000);
		expect(hung).toHaveLength(1);
	});

	test("and waits for a device, or is held by a debugger, is busy as long as it is", async () => {
		for (const held of ["uninterruptible", "traced"] as const) {
			const { clock, process, hung, events } = monitorScene(neverAnswers);
			process.held = held;
			await clock.advance(600_000);
			expect(hung).toEqual([]);
			expect(events.of("heartbeat.busy")).toMatchObject([{ cpuAdvancedMs: 0 }]);
			process.held = "no";
			await clock.advance(14_000);
			expect(hung).toHaveLength(1);
		}
	});

	test("no more than what waits for a lock is hung", async () => {
		const scene = monitorScene(neverAnswers);
		// Measured for a thread that waits for Python's lock.
		await uses(scene, 0.008, 14);
		expect(scene.hung).toEqual([10_000]);
	});

	test("but whose processor time cannot be read is judged by its silence", async () => {
		const scene = monitorScene(neverAnswers);
		scene.process.readable = false;
		await uses(scene, 1, 14);
		expect(scene.hung).toEqual([10_000]);
	});

	test("costs nothing while it answers", async () => {
		const { clock, host } = monitorScene(answers);
		host.threads = () => expect.unreachable();
		host.members = () => expect.unreachable();
		host.facts = () => expect.unreachable();
		await clock.advance(20_000);
	});
});
