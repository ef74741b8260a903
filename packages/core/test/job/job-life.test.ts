import { describe, expect, test } from "vitest";
import { MARKER_VARIABLE } from "../../src/contract/identity.ts";
import { unpaired } from "../../src/testing/event-recorder.ts";
import type { FakeProgram } from "../../src/testing/fake-process.ts";
import { virtualJobs } from "./virtual-jobs.ts";

const forASecond: FakeProgram = (self) => self.sleep(1_000);
const idle: FakeProgram = (self) => self.idle();
const stubborn: FakeProgram = (self) => self.ignore("SIGTERM").idle();

describe("a job", () => {
	test("is recorded, started and settled, and leaves nothing", async () => {
		const bench = virtualJobs((self) => {
			self.write("out");
			self.write("in trouble", "stderr");
		});
		const { registry, host, events } = bench;
		const job = bench.job();
		expect(await bench.outcomeOf(job.text())).toBe("out\n");
		expect(await job.result()).toMatchObject({
			exit: { kind: "code", code: 0 },
			stderrTail: ["in trouble"],
		});
		const { jobId } = job;
		expect(events.of("job.accepted")).toMatchObject([
			{ jobId, program: "program", waiting: 0 },
		]);
		expect(events.of("job.started")).toMatchObject([
			{ jobId, pid: host.started[0]?.pid, source: "fake" },
		]);
		expect(events.of("job.settled")).toMatchObject([
			{
				...{ jobId, outcome: "succeeded", code: undefined, killer: "none" },
				...{ exit: { kind: "code", code: 0 }, spared: [] },
				tail: ["in trouble"],
			},
		]);
		expect(unpaired(events.events)).toEqual([]);
		expect(registry.list()).toMatchObject([
			{
				...{ incarnation: jobId, workerId: "job-1", pool: "(jobs)" },
				...{ status: "ended", end: { reason: "exited", killer: "none" } },
			},
		]);
		expect(host.removed).toEqual(["/virtual/1"]);
		expect(host.keptAlive).toBe(0);
	});

	test("holds the program open until it is over", async () => {
		const bench = virtualJobs(forASecond, { concurrency: 1, queueLimit: 1 });
		const results = [bench.job().result(), bench.job().result()];
		await bench.clock.settle();
		expect(bench.host.keptAlive).toBe(2);
		await bench.clock.advance(1_000);
		expect(bench.host.keptAlive).toBe(1);
		await bench.clock.advanceUntil(Promise.all(results));
		expect(bench.host.keptAlive).toBe(0);
	});

	test("waits for its turn, and is counted as what it is", async () => {
		const bench = virtualJobs(forASecond, { concurrency: 1, queueLimit: 1 });
		const jobs = [bench.job(), bench.job()];
		const results = jobs.map((job) => job.result());
		await bench.clock.advance(100);
		expect(jobs.map(({ pid }) => typeof pid)).toEqual(["number", "undefined"]);
		expect(bench.jobs.statistics()).toMatchObject({ waiting: 1, running: 1 });
		await bench.clock.advanceUntil(Promise.all(results));
		expect(bench.events.of("job.accepted").map((each) => each.waiting)).toEqual(
			[0, 1],
		);
		const waits = bench.events.of("job.started").map((each) => each.waitedMs);
		expect(waits).toEqual([0, 1_000]);
		expect(bench.jobs.statistics()).toEqual({
			...{ waiting: 0, running: 0, succeeded: 2 },
			...{ failed: 0, aborted: 0, timed_out: 0 },
		});
	});

	test("that may not even wait is refused without an event", async () => {
		const bench = virtualJobs(idle, { concurrency: 1, queueLimit: 0 });
		bench.job();
		const error = await bench.outcomeOf(bench.job().result());
		expect(error).toMatchObject({ code: "JOB_QUEUE_FULL", ran: "no" });
		expect(bench.events.of("job.accepted")).toHaveLength(1);
	});

	test("whose program cannot be started fails with that error, and makes room for the next", async () => {
		const bench = virtualJobs(forASecond, { concurrency: 1, queueLimit: 5 });
		bench.host.directoryError = new Error("no space");
		expect(await bench.outcomeOf(bench.job().text())).toMatchObject({
			...{ code: "SPAWN_FAILED", ran: "no" },
			message: "A job could not be started: no space",
		});
		bench.host.directoryError = undefined;
		bench.host.failSpawns(1);
		expect(await bench.outcomeOf(bench.job().text())).toMatchObject({
			code: "SPAWN_FAILED",
		});
		expect(await bench.outcomeOf(bench.job().result())).toMatchObject({
			ranMs: 1_000,
		});
		expect(unpaired(bench.events.events)).toEqual([]);
		expect(bench.registry.living()).toEqual([]);
	});
});

describe("its end", () => {
	test("comes when its time is over, which the wait for its turn is no part of", async () => {
		const bench = virtualJobs(forASecond, { concurrency: 1, queueLimit: 1 });
		const patient = bench.job({ timeoutMs: 1_500 }).result();
		const late = bench.job({ timeoutMs: 900 }).result();
		expect(await bench.outcomeOf(patient)).toMatchObject({ ranMs: 1_000 });
		expect(await bench.outcomeOf(late)).toMatchObject({
			...{ name: "TimeoutError", code: "JOB_TIMEOUT" },
			exit: { kind: "signal", signal: "SIGTERM" },
		});
		expect(bench.clock.now()).toBe(1_900);
		await bench.clock.advance(2_000);
		expect(bench.clock.pending()).toBe(0);
	});

	test("is SIGTERM, and SIGKILL after killAfterMs", async () => {
		const bench = virtualJobs(stubborn);
		const abort = new AbortController();
		const job = bench.job({ signal: abort.signal, killAfterMs: 300 });
		const result = job.result();
		await bench.clock.advance(100);
		abort.abort(new Error("enough"));
		expect(await bench.outcomeOf(result)).toMatchObject({
			...{ code: "JOB_ABORTED", ran: "maybe", cause: new Error("enough") },
			exit: { kind: "signal", signal: "SIGKILL" },
		});
		expect(bench.clock.now()).toBe(400);
		expect(bench.host.started[0]?.received).toEqual(["SIGTERM", "SIGKILL"]);
		expect(bench.events.of("job.settled")).toMatchObject([
			{ outcome: "aborted", killer: "stop_ladder", ranMs: 400 },
		]);
		expect(bench.registry.list()).toMatchObject([
			{ end: { reason: "closed" } },
		]);
	});

	test("is SIGTERM first, too, where a listener of its start ends it", async () => {
		const abort = new AbortController();
		const bench = virtualJobs(stubborn, undefined, ({ type }) => {
			if (type === "job.started") abort.abort();
		});
		const job = bench.job({ signal: abort.signal, killAfterMs: 300 });
		expect(await bench.outcomeOf(job.result())).toMatchObject({
			...{ code: "JOB_ABORTED", ran: "maybe" },
			exit: { kind: "signal", signal: "SIGKILL" },
		});
		expect(bench.clock.now()).toBe(300);
		expect(bench.host.started[0]?.received).toEqual(["SIGTERM", "SIGKILL"]);
	});

	test("that is asked for again for another reason is not hurried by it", async () => {
		const bench = virtualJobs(stubborn);
		const abort = new AbortController();
		const { signal } = abort;
		const result = bench
			.job({ signal, timeoutMs: 200, killAfterMs: 1_000 })
			.result();
		await bench.clock.advance(100);
		abort.abort();
		expect(await bench.outcomeOf(result)).toMatchObject({
			code: "JOB_ABORTED",
		});
		expect(bench.clock.now()).toBe(1_100);
	});

	test("before its turn costs no process", async () => {
		const bench = virtualJobs(idle, { concurrency: 1, queueLimit: 5 });
		bench.job();
		const abort = new AbortController();
		const result = bench.job({ signal: abort.signal }).result();
		await bench.clock.settle();
		abort.abort();
		const error = await bench.outcomeOf(result);
		expect(error).toMatchObject({ code: "JOB_ABORTED", ran: "no" });
		expect(bench.host.started).toHaveLength(1);
		expect(bench.jobs.statistics()).toMatchObject({ waiting: 0, aborted: 1 });
		expect(bench.registry.list()).toHaveLength(1);
	});

	test("is at once where the signal has aborted before", async () => {
		const bench = virtualJobs(idle);
		const result = bench.job({ signal: AbortSignal.abort() }).result();
		expect(await bench.outcomeOf(result)).toMatchObject({ ran: "no" });
		expect(bench.host.started).toEqual([]);
	});

	test("while it is being spawned comes as soon as there is a process", async () => {
		const bench = virtualJobs(idle);
		const release = bench.host.holdSpawns();
		const abort = new AbortController();
		const result = bench.job({ signal: abort.signal }).result();
		await bench.clock.settle();
		abort.abort();
		release();
		expect(await bench.outcomeOf(result)).toMatchObject({
			exit: { kind: "signal", signal: "SIGTERM" },
		});
	});

	test("of one that cannot die is reported as such, and its row is kept", async () => {
		const bench = virtualJobs((self) => {
			self.killable = false;
			return self.idle();
		});
		const result = bench.job({ timeoutMs: 100, killAfterMs: 100 }).text();
		expect(await bench.outcomeOf(result)).toMatchObject({
			...{ code: "JOB_TIMEOUT", exit: undefined },
			message: expect.stringContaining("was sent SIGKILL and is still there"),
		});
		expect(bench.registry.living()).toHaveLength(1);
		expect(unpaired(bench.events.events)).toEqual([]);
	});

	test("takes what it left in its group along", async () => {
		const bench = virtualJobs(
			(self) => void self.fork((child) => child.ignore("SIGTERM").idle()),
		);
		expect(await bench.outcomeOf(bench.job().result())).toMatchObject({
			exit: { code: 0 },
		});
		expect(bench.host.living()).toEqual([]);
	});

	test("reports what nothing proves to be of its group", async () => {
		const bench = virtualJobs((self) => {
			self.fork((child) => child.idle()).provable = false;
		});
		await bench.outcomeOf(bench.job().result());
		const [spared] = bench.events.of("job.settled").map((each) => each.spared);
		expect(spared).toEqual(
			bench.host.machine.started.slice(2).map(({ pid }) => pid),
		);
		expect(spared).toHaveLength(1);
	});

	test("takes what left its group along within a second", async () => {
		const bench = virtualJobs(
			(self) => void self.fork((each) => each.idle(), { newGroup: true }),
		);
		const result = bench.job().result();
		await bench.outcomeOf(result);
		expect(bench.events.of("orphan.reaped")).toHaveLength(1);
		expect(bench.host.living()).toEqual([]);
	});

	test("does not wait for a foreign process that holds its output open", async () => {
		const env = { [MARKER_VARIABLE]: undefined };
		const bench = virtualJobs((self) => {
			self.write("out");
			self.fork((child) => child.idle(), { newGroup: true, env });
		});
		expect(await bench.outcomeOf(bench.job().text())).toBe("out\n");
		expect(bench.clock.now()).toBeLessThanOrEqual(1_200);
		expect(bench.host.living()).toHaveLength(1);
	});
});

test("an error of onStderr is the listener's own", async () => {
	const bench = virtualJobs((self) => self.write("one", "stderr"));
	const onStderr = (): never => {
		throw new Error("of the listener");
	};
	expect(await bench.outcomeOf(bench.job({ onStderr }).result())).toMatchObject(
		{ stderrTail: ["one"] },
	);
	expect(bench.events.of("listener.threw")).toMatchObject([
		{ of: "onStderr", error: new Error("of the listener") },
	]);
});

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
