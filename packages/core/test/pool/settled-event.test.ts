import { expect, test } from "vitest";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

const commands = {
	echo: scripts.echo,
	fail: scripts.fail,
	crash: scripts.crash,
};

test("call.settled has the code and the message of the error and whether the call ran, and no arguments", async () => {
	const { pool, clock, events } = await virtualPool({ commands });
	const ok = pool.execute("echo", { password: "secret" });
	const failed = outcome(pool.execute("fail", "no paper"));
	const lost = outcome(pool.execute("crash"));
	await clock.advance(1_000);
	await Promise.all([ok, failed, lost]);
	expect(events.of("call.settled")).toMatchObject([
		{
			outcome: "succeeded",
			code: undefined,
			message: undefined,
			ran: undefined,
			remote: undefined,
		},
		{
			code: "TOOL_FAILED",
			message: expect.stringContaining("no paper"),
			ran: "maybe",
			remote: { message: expect.stringContaining("no paper") },
		},
		{
			code: "WORKER_EXITED",
			message: expect.stringContaining("while it ran this call"),
			ran: "maybe",
		},
	]);
	expect(events.of("call.settled").map(({ args }) => args)).toEqual([
		undefined,
		undefined,
		undefined,
	]);
});

const TRACE = "0af7651916cd43dd8448eb211c80319c";

test("call.settled has each attempt with its wait and its end, and the trace that the caller names", async () => {
	let failures = 2;
	const { pool, clock, events } = await virtualPool(
		{
			commands: {
				...commands,
				slow: scripts.work,
				flaky: async () => {
					if (failures-- > 0) throw new Error("busy");
				},
			},
		},
		{ size: 1 },
	);
	const first = pool.execute("slow", 100);
	const second = pool.execute("flaky", undefined, {
		retry: { attempts: 3, backoffMs: 50, on: () => true },
		traceContext: { traceparent: `00-${TRACE}-b7ad6b7169203331-01` },
	});
	await clock.advance(1_000);
	await Promise.all([first, second]);
	const [slow, flaky] = events.of("call.settled");
	expect(slow?.attemptDetails).toEqual([
		{
			...{ workerId: "scripted-0", incarnation: expect.any(String) },
			...{ waitedMs: 0, ranMs: 100, code: undefined, pauseMs: undefined },
		},
	]);
	expect(slow?.traceId).toBeUndefined();
	expect(flaky).toMatchObject({ attempts: 3, traceId: TRACE });
	const pauses = events.of("call.retried").map(({ pauseMs }) => pauseMs);
	expect(flaky?.attemptDetails).toMatchObject([
		{ waitedMs: 100, ranMs: 0, code: "TOOL_FAILED", pauseMs: pauses[0] },
		{ waitedMs: 0, ranMs: 0, code: "TOOL_FAILED", pauseMs: pauses[1] },
		{ waitedMs: 0, ranMs: 0, code: undefined, pauseMs: undefined },
	]);
});

test("a call that ends while it waits, pauses or runs has the attempts until then; of many it has the last 20", async () => {
	const { pool, clock, events } = await virtualPool(
		{ commands: { ...commands, slow: scripts.work } },
		{ size: 1 },
	);
	const retry = { attempts: 30, on: () => true };
	const many = outcome(pool.execute("fail", "no paper", { retry }));
	await clock.advance(1);
	const abort = new AbortController();
	const { signal } = abort;
	const pausing = outcome(
		pool.execute("fail", "no ink", {
			...{ signal, retry: { ...retry, backoffMs: 400 } },
		}),
	);
	await clock.advance(1);
	const running = outcome(pool.execute("slow", 1_000, { signal }));
	const waiting = outcome(pool.execute("echo", 1, { timeoutMs: 20 }));
	await clock.advance(30);
	abort.abort();
	await clock.advance(1_000);
	await Promise.all([many, pausing, running, waiting]);
	const details = (command: string) =>
		events
			.of("call.settled")
			.filter((event) => event.command === command)
			.map(({ attempts, attemptDetails }) => ({
				attempts,
				codes: attemptDetails.map(({ code, ranMs }) => [code, ranMs]),
			}));
	expect(details("fail")).toEqual([
		{ attempts: 30, codes: Array(20).fill(["TOOL_FAILED", 0]) },
		{ attempts: 1, codes: [["TOOL_FAILED", 0]] },
	]);
	expect(details("slow")).toEqual([
		{ attempts: 1, codes: [["CALL_ABORTED", 30]] },
	]);
	expect(details("echo")).toEqual([{ attempts: 0, codes: [] }]);
});

test("observe.args says what is shown of the arguments; one that throws shows nothing and hurts nothing", async () => {
	const { pool, clock, events } = await virtualPool(
		{ commands },
		{
			observe: {
				args: (command, args) => {
					if (args === "poison") throw new Error("no");
					return { command, has: typeof args };
				},
			},
		},
	);
	const calls = [pool.execute("echo", 7), pool.execute("echo", "poison")];
	await clock.advance(10);
	expect(await Promise.all(calls)).toEqual([7, "poison"]);
	expect(events.of("call.settled").map(({ args }) => args)).toEqual([
		{ command: "echo", has: "number" },
		undefined,
	]);
	expect(events.of("listener.threw")).toMatchObject([{ of: "observe.args" }]);
});

test("observe takes a function, and nothing else", async () => {
	for (const observe of [{ args: "all" }, { arguments: () => 1 }, 7])
		await expect(
			virtualPool({ commands }, { observe: observe as object }),
		).rejects.toMatchObject({ name: "OptionsError" });
});
