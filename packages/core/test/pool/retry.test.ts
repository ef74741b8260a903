import { describe, expect, test } from "vitest";
import { OptionsError, type ToolError } from "../../src/contract/errors.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

const onBusy = (error: ToolError): boolean => error.remote.message === "busy";

/** Fails so often with its argument as the message, and then answers with the number of the attempt. */
function flaky(failures: number) {
	let attempts = 0;
	return async ({ args }: ScriptedCall): Promise<number> => {
		if (++attempts <= failures) throw new Error(String(args));
		return attempts;
	};
}

test("an async function as `on` is refused, and one that returns a promise fails the call", async () => {
	const { pool, events } = await virtualPool({
		commands: { flaky: flaky(9) },
	});
	const late = async (): Promise<boolean> => true;
	const refused = pool.execute("flaky", "busy", {
		retry: { attempts: 3, on: late as never },
	});
	await expect(refused).rejects.toThrow(OptionsError);
	await expect(refused).rejects.toThrow(
		'"on" must be a function that returns true or false, not an async one',
	);
	for (const promise of [late, () => Promise.reject(new Error("mine"))]) {
		const on = (): never => promise() as never;
		const failed = await outcome(
			pool.execute("flaky", "busy", { retry: { attempts: 3, on } }),
		);
		expect(failed).toMatchObject({
			code: "INVALID_OPTION",
			ran: "maybe",
			error: {
				message: expect.stringMatching(
					/"on" of its retry returned a promise.*busy/s,
				),
				cause: { code: "TOOL_FAILED" },
			},
		});
	}
	expect(events.of("call.settled").map(({ attempts }) => attempts)).toEqual([
		1, 1,
	]);
});

describe("a failure of the command", () => {
	test("is retried if the caller accepts it, after a pause that doubles", async () => {
		const { pool, clock, events } = await virtualPool({
			commands: { flaky: flaky(2) },
		});
		const retry = { attempts: 3, backoffMs: 100, on: onBusy };
		const call = pool.execute("flaky", "busy", { retry });
		await clock.advance(1_000);
		expect(await call).toBe(3);
		const retried = events.of("call.retried");
		expect(retried).toMatchObject([
			{ attempt: 1, because: "TOOL_FAILED" },
			{ attempt: 2, because: "TOOL_FAILED" },
		]);
		const [first, second] = retried.map(({ pauseMs }) => pauseMs);
		expect(first).toBeGreaterThanOrEqual(50);
		expect(first).toBeLessThanOrEqual(100);
		expect(second).toBeGreaterThanOrEqual(100);
		expect(second).toBeLessThanOrEqual(200);
		const dispatched = events.of("call.dispatched");
		expect(dispatched.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
		const times = dispatched.map(({ wallMs }) => wallMs);
		expect(Number(times[1]) - Number(times[0])).toBe(first);
		expect(Number(times[2]) - Number(times[1])).toBe(second);
	});

	test("is the call's when no attempt is left, or the caller does not accept it", async () => {
		const { pool, events } = await virtualPool({
			commands: { flaky: flaky(9) },
		});
		const retry = { attempts: 3, on: onBusy };
		expect(
			await outcome(pool.execute("flaky", "busy", { retry })),
		).toMatchObject({
			code: "TOOL_FAILED",
			ran: "maybe",
			error: {
				attempts: 3,
				message: expect.stringMatching(/^After 3 attempts: /),
			},
		});
		expect(events.of("call.settled")).toMatchObject([
			{ attempts: 3, message: expect.stringMatching(/^After 3 attempts: /) },
		]);
		const broken = await outcome(pool.execute("flaky", "broken", { retry }));
		expect(broken).not.toHaveProperty("error.attempts");
		await outcome(pool.execute("flaky", "busy", { retry: { attempts: 3 } }));
		expect(events.of("call.settled").map(({ attempts }) => attempts)).toEqual([
			3, 1, 1,
		]);
	});

	test("is not retried if `on` throws, which is reported", async () => {
		const { pool, events } = await virtualPool({
			commands: { flaky: flaky(1) },
		});
		const error = new Error("of the predicate");
		const on = (): boolean => {
			throw error;
		};
		const call = pool.execute("flaky", "x", { retry: { attempts: 2, on } });
		expect(await outcome(call)).toMatchObject({ code: "TOOL_FAILED" });
		expect(events.of("listener.threw")).toMatchObject([
			{ of: "retry.on", error },
		]);
	});
});

describe("a call that pauses", () => {
	const paused = async (timeoutMs?: number) => {
		const made = await virtualPool({ commands: { flaky: flaky(9) } });
		const abort = new AbortController();
		const call = outcome(
			made.pool.execute("flaky", "busy", {
				retry: { attempts: 9, backoffMs: 1_000, on: onBusy },
				...{ signal: abort.signal, timeoutMs },
			}),
		);
		await made.clock.advance(1);
		return { ...made, abort, call };
	};

	test("ends at once when it is aborted, and is not made again", async () => {
		const { abort, call, clock, events } = await paused();
		abort.abort();
		expect(await call).toMatchObject({
			...{ code: "CALL_ABORTED", ran: "maybe" },
			error: { message: expect.stringMatching(/^After 1 attempt: /) },
		});
		await clock.advance(10_000);
		expect(events.of("call.dispatched")).toHaveLength(1);
	});

	test("takes no worker and no place in the queue", async () => {
		const { pool, abort, call } = await paused();
		expect(pool.statistics()).toMatchObject({
			calls: { waiting: 0, running: 0 },
		});
		expect(await outcome(pool.execute("flaky", "other"))).toMatchObject({
			code: "TOOL_FAILED",
		});
		abort.abort();
		await call;
	});

	test("ends with its pool when the drain is over", async () => {
		const { call, close } = await paused();
		await close({ drainMs: 10 });
		expect(await call).toMatchObject({ code: "POOL_CLOSED" });
	});
});

test("a strict session whose process is gone is not retried", async () => {
	const { pool, clock, adapter } = await virtualPool({
		commands: { flaky: flaky(1) },
	});
	const session = pool.session({ affinity: "strict" });
	const retry = { attempts: 5, backoffMs: 1_000, on: onBusy };
	const call = outcome(session.execute("flaky", "busy", { retry }));
	await clock.advance(1);
	adapter.workers[0]?.crash();
	await clock.advance(5_000);
	expect(await call).toMatchObject({ code: "SESSION_LOST" });
});

test("a call whose worker died with its strict session fails with the end of the worker, whatever it declares", async () => {
	const { pool, clock, events } = await virtualPool({
		commands: { crash: scripts.crash },
	});
	const session = pool.session({ affinity: "strict" });
	const call = outcome(
		session.execute("crash", undefined, { retry: { attempts: 5 } }),
	);
	await clock.advance(5_000);
	expect(await call).toMatchObject({
		code: "WORKER_EXITED",
		ran: "maybe",
		error: { message: expect.stringContaining("SIGSEGV") },
	});
	expect(events.of("call.retried")).toEqual([]);
});

test.each([
	[{ attempts: 0 }, /"attempts" must be a whole number from 1 to 100/],
	[{ attempts: 2, backofMs: 1 }, /Did you mean "backoffMs"/],
	[3, /"retry" must be an object/],
])("refuses %j", async (retry, message) => {
	const { pool } = await virtualPool({});
	const call = pool.execute("any", 1, { retry: retry as never });
	await expect(call).rejects.toThrow(OptionsError);
	await expect(call).rejects.toThrow(message);
});
