import { describe, expect, test } from "vitest";
import type { FakeProgram } from "../../src/testing/fake-process.ts";
import { virtualJobs } from "./virtual-jobs.ts";

const forASecond: FakeProgram = (self) => self.sleep(1_000);
const idle: FakeProgram = (self) => self.idle();
const stubborn: FakeProgram = (self) => self.ignore("SIGTERM").idle();
const ONE = { concurrency: 1, queueLimit: 5 };

/** Jobs of the program, and what they end with. */
function started(program: FakeProgram, count: number) {
	const bench = virtualJobs(program, ONE);
	const outcomes = Array.from({ length: count }, () =>
		bench
			.job()
			.result()
			.then(
				() => "succeeded",
				({ code }) => code as string,
			),
	);
	return { ...bench, outcomes: Promise.all(outcomes) };
}

describe("when a run is closed", () => {
	test("its jobs get to finish, also those that wait, and no new one is taken", async () => {
		const { jobs, clock, outcomes, job, outcomeOf } = started(forASecond, 2);
		const closed = jobs.close("gentle");
		const late = job();
		expect(await outcomeOf(late.text())).toMatchObject({
			...{ code: "JOB_RUN_CLOSED", ran: "no" },
			message: expect.stringContaining("before run.close()"),
		});
		await clock.advanceUntil(closed);
		expect(await outcomes).toEqual(["succeeded", "succeeded"]);
		expect(clock.now()).toBe(2_000);
	});

	test("those that are left after drainMs are asked to end, and those that wait do not begin", async () => {
		const { jobs, clock, outcomes, host } = started(idle, 2);
		await clock.advanceUntil(jobs.close("gentle", 500));
		expect(await outcomes).toEqual(["JOB_RUN_CLOSED", "JOB_RUN_CLOSED"]);
		expect(host.started.map(({ received }) => received)).toEqual([["SIGTERM"]]);
		expect(clock.now()).toBe(500);
	});

	test("by force they are killed at once", async () => {
		const { jobs, clock, outcomes, host } = started(stubborn, 2);
		await clock.settle();
		await clock.advanceUntil(jobs.close("forced"));
		expect(await outcomes).toEqual(["JOB_RUN_CLOSED", "JOB_RUN_CLOSED"]);
		expect(host.started.map(({ received }) => received)).toEqual([["SIGKILL"]]);
		expect(clock.now()).toBe(0);
	});

	test("by force after gently, what the first still waits for is killed; to close again is harmless", async () => {
		const { jobs, clock, outcomes, host } = started(stubborn, 1);
		const gently = jobs.close("gentle", 10_000);
		await clock.advance(100);
		expect(jobs.close("gentle")).toBe(gently);
		expect(jobs.close("forced")).toBe(gently);
		await clock.advanceUntil(gently);
		expect(await outcomes).toEqual(["JOB_RUN_CLOSED"]);
		expect(host.started[0]?.received).toEqual(["SIGKILL"]);
		expect(clock.now()).toBe(100);
	});

	test("by force while one is being spawned, it is killed as soon as there is a process", async () => {
		const { jobs, clock, outcomes, host } = started(stubborn, 1);
		const release = host.holdSpawns();
		await clock.settle();
		const closed = jobs.close("forced");
		release();
		await clock.advanceUntil(closed);
		expect(await outcomes).toEqual(["JOB_RUN_CLOSED"]);
		expect(host.living()).toEqual([]);
		expect(clock.now()).toBe(0);
	});

	test("what a job left outside its group is gone, too", async () => {
		const { jobs, clock, host } = started(
			(self) => void self.fork((child) => child.idle(), { newGroup: true }),
			1,
		);
		await clock.advanceUntil(jobs.close("gentle"));
		expect(host.living()).toEqual([]);
		expect(clock.pending()).toBe(0);
	});
});

describe("when the program dies of a signal", () => {
	test("jobs are asked to end at once, killed when the time is over, and their callers get no error", async () => {
		const { jobs, clock, outcomes, host } = started(stubborn, 1);
		await clock.settle();
		await clock.advanceUntil(jobs.close("gentle", 2_000, "dies"));
		expect(host.started[0]?.received).toEqual(["SIGTERM", "SIGKILL"]);
		expect(clock.now()).toBe(2_000);
		const first = Promise.race([
			outcomes,
			clock.settle().then(() => "pending"),
		]);
		expect(await first).toBe("pending");
	});

	test("that meets an orderly close ends jobs which that would wait for, in the time of the signal", async () => {
		const { jobs, clock, host } = started(stubborn, 1);
		const closed = jobs.close("gentle", 30_000);
		await clock.advance(100);
		void jobs.close("gentle", 2_000, "dies");
		await clock.advanceUntil(closed);
		expect(host.started[0]?.received).toEqual(["SIGTERM", "SIGKILL"]);
		expect(clock.now()).toBe(2_100);
		expect(clock.pending()).toBe(0);
	});

	test("one that ends when it is asked takes no time", async () => {
		const { jobs, clock, host } = started(idle, 1);
		await clock.settle();
		await clock.advanceUntil(jobs.close("gentle", 2_000, "dies"));
		expect(host.started[0]?.received).toEqual(["SIGTERM"]);
		expect(clock.now()).toBe(0);
	});
});

test("at the exit of the program every group is killed in that very turn", async () => {
	const { jobs, clock, outcomes, host, events } = started(stubborn, 2);
	await clock.settle();
	jobs.killNow();
	expect(host.living()).toEqual([]);
	await clock.advance(100);
	jobs.killNow();
	await clock.advanceUntil(outcomes);
	const killers = events.of("job.settled").map(({ killer }) => killer);
	expect(killers).toEqual(["application_cleanup", "application_cleanup"]);
});
