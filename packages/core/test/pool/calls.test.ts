import { AsyncLocalStorage } from "node:async_hooks";
import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { RECALLED } from "../../src/adapter.ts";
import type { Pool, PoolSession } from "../../src/pool/pool.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import {
	closedVirtualPool,
	outcome,
	virtualPool,
	virtualPoolOver,
} from "./virtual-pool.ts";

test("a call is answered, and every event has its pair", async () => {
	const { pool, events, close } = await virtualPool({
		commands: { echo: scripts.echo },
	});
	expect(await pool.execute("echo", { a: 1 })).toEqual({ a: 1 });
	await close();
	events.assertPaired();
	expect(events.of("call.settled")).toHaveLength(1);
});

test("more calls than workers wait, and all are answered in the order of their priority", async () => {
	const order: unknown[] = [];
	const { pool, clock } = await virtualPool({
		commands: {
			work: async (call) => {
				order.push(call.args);
				return await scripts.work({ ...call, args: 10 });
			},
		},
	});
	const calls = [
		pool.execute("work", "first"),
		pool.execute("work", "low", { priority: -1 }),
		pool.execute("work", "plain"),
		pool.execute("work", "high", { priority: 5 }),
		pool.execute("work", "plain too"),
	];
	await clock.advance(100);
	await Promise.all(calls);
	expect(order).toEqual(["first", "high", "plain", "plain too", "low"]);
});

test("a full queue refuses one more, and says how full it is", async () => {
	const { pool, close } = await virtualPool(
		{ commands: { hang: scripts.hang } },
		{ queue: { limit: 2 } },
	);
	const waiting = [1, 2, 3].map(() => outcome(pool.execute("hang")));
	const refused = await outcome(pool.execute("hang"));
	expect(refused).toMatchObject({
		kind: "error",
		code: "QUEUE_FULL",
		ran: "no",
	});
	expect(refused.kind === "error" && refused.error.message).toContain(
		"2 calls are waiting",
	);
	await close({ manner: "forced" });
	await Promise.all(waiting);
});

test("a full queue refuses the call of a session as any other", async () => {
	const { pool, close } = await virtualPool(
		{ commands: { hang: scripts.hang } },
		{ queue: { limit: 0 } },
	);
	const running = outcome(pool.execute("hang"));
	expect(await outcome(pool.session().execute("hang"))).toMatchObject({
		code: "QUEUE_FULL",
		ran: "no",
	});
	await close({ manner: "forced" });
	await running;
});

test("a call that its worker gave back, because it did not begin it, is made again, which is no other attempt", async () => {
	let given = 0;
	const { pool, clock, events } = await virtualPoolOver(
		(connection) => ({
			execute: (...call) =>
				given++ === 0 ? Promise.resolve(RECALLED) : connection.execute(...call),
		}),
		{ commands: { echo: scripts.echo } },
	);
	expect(await clock.advanceUntil(pool.execute("echo", 7))).toBe(7);
	expect(given).toBe(2);
	expect(events.of("call.dispatched").map(({ attempt }) => attempt)).toEqual([
		1, 1,
	]);
	expect(events.of("call.released")).toMatchObject([
		{ attempt: 1, ranMs: 0 },
		{ attempt: 1 },
	]);
	expect(events.of("call.settled")).toMatchObject([{ attempts: 1 }]);
	expect(pool.statistics().run.count).toBe(1);
});

test("a worker is told how much of its call's time is left", async () => {
	const { pool, clock } = await virtualPool({
		commands: {
			work: scripts.work,
			left: ({ timeoutMs }: ScriptedCall) => timeoutMs,
		},
	});
	const busy = pool.execute("work", 300);
	const left = pool.execute("left", 1, { timeoutMs: 1_000 });
	await clock.advanceUntil(busy);
	expect(await left).toBe(700);
});

test("a signal keeps nothing of the calls that are over, nor does the clock", async () => {
	const { pool, clock } = await virtualPool({
		commands: { echo: scripts.echo },
	});
	const { signal } = new AbortController();
	const timers = clock.pending();
	const settings = { signal, timeoutMs: 60_000, queueTimeoutMs: 60_000 };
	await Promise.all([1, 2, 3].map((n) => pool.execute("echo", n, settings)));
	expect(getEventListeners(signal, "abort")).toEqual([]);
	expect(clock.pending()).toBe(timers);
});

test("statistics say how long calls waited and ran", async () => {
	const { pool, clock } = await virtualPool({
		commands: { work: scripts.work },
	});
	await clock.advanceUntil(
		Promise.all([pool.execute("work", 100), pool.execute("work", 300)]),
	);
	const { queueWait, run, total } = pool.statistics();
	const rounded = ({ count, minMs, meanMs, maxMs }: typeof run) =>
		[count, minMs, meanMs, maxMs].map(Math.round);
	expect(rounded(queueWait)).toEqual([2, 0, 50, 100]);
	expect(rounded(run)).toEqual([2, 100, 200, 300]);
	expect(rounded(total)).toEqual([2, 100, 250, 400]);
});

test("what an adapter notes while it prepares is an event, and nothing where it has no notes", async () => {
	for (const notes of [undefined, () => ["a page is older than its program"]]) {
		const scene = closedVirtualPool({ commands: {} });
		const { life, adapter, clock, events } = scene;
		Object.assign(adapter, { notes });
		await Promise.all([life.open(), clock.advance(0)]);
		expect(events.of("pool.adapter_noted").map(({ note }) => note)).toEqual(
			notes?.() ?? [],
		);
	}
});

test("a call that waits too long for a worker never ran", async () => {
	const { pool, clock, close } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	const running = outcome(pool.execute("hang"));
	const waiting = outcome(
		pool.execute("hang", undefined, { queueTimeoutMs: 50 }),
	);
	await clock.advance(50);
	expect(await waiting).toMatchObject({ code: "QUEUE_TIMEOUT", ran: "no" });
	await close({ manner: "forced" });
	expect(await running).toMatchObject({ code: "POOL_CLOSED", ran: "maybe" });
});

test("a failing tool fails its call only, with its error as the cause", async () => {
	const { pool } = await virtualPool({
		commands: { fail: scripts.fail, echo: scripts.echo },
	});
	expect(await outcome(pool.execute("fail", "no such thing"))).toMatchObject({
		code: "TOOL_FAILED",
		ran: "maybe",
	});
	expect(await pool.execute("echo", 2)).toBe(2);
});

test("a call runs in the asynchronous context of its caller, also after a wait", async () => {
	const context = new AsyncLocalStorage<string>();
	const { pool, clock } = await virtualPool({
		commands: {
			where: async (call) => {
				await scripts.work({ ...call, args: 5 });
				return context.getStore();
			},
		},
	});
	const calls = ["a", "b", "c"].map((name) =>
		context.run(name, () => pool.execute("where")),
	);
	await clock.advance(50);
	expect(await Promise.all(calls)).toEqual(["a", "b", "c"]);
});

test("a pool holds the program open only while calls are outstanding", async () => {
	const { pool, clock, host, close } = await virtualPool({
		commands: { work: scripts.work },
	});
	expect(host.keptAlive).toBe(0);
	const call = pool.execute("work", 10);
	expect(host.keptAlive).toBe(1);
	await clock.advance(10);
	await call;
	expect(host.keptAlive).toBe(0);
	await close();
	expect(host.keptAlive).toBe(0);
});

test("a misused option is refused before the call begins", async () => {
	const { pool } = await virtualPool({ commands: {} });
	// @ts-expect-error misspelt on purpose
	expect(await outcome(pool.execute("x", 1, { timeout: 5 }))).toMatchObject({
		code: "UNKNOWN_OPTION",
	});
	expect(await outcome(pool.execute("x", 1, { timeoutMs: -5 }))).toMatchObject({
		code: "INVALID_OPTION",
	});
	expect(await outcome(pool.execute("", 1))).toMatchObject({
		code: "INVALID_OPTION",
	});
	for (const options of [
		{ queueTimeoutMs: -1 },
		{ timeoutMs: 0 },
		{ input: "a text" },
		{ input: null },
		{ input: {} },
		{ traceContext: null },
		{ traceContext: "a text" },
		{ traceContext: { traceparent: 1 } },
	] as readonly object[])
		expect(await outcome(pool.execute("x", 1, options))).toMatchObject({
			code: "INVALID_OPTION",
		});
	expect(() => pool.session({ affinity: "loose" as never })).toThrow(
		/"affinity" must be/,
	);
});

test("a described tool can be called only in the way it answers", async () => {
	type Tools = {
		add(args: { a: number; b: number }): number;
		words(): string[];
		primes(args: { below: number }): AsyncIterable<number>;
	};
	const { pool } = await virtualPool({
		commands: { add: async () => 3, words: async () => ["a"] },
	});
	const typed = pool as unknown as Pool<Tools>;
	const sum: number = await typed.execute("add", { a: 1, b: 2 });
	const words: string[] = await typed.execute("words");
	expect([sum, words]).toEqual([3, ["a"]]);
	const calls = {
		// @ts-expect-error it answers with a stream
		executed: () => typed.execute("primes", { below: 9 }),
		// @ts-expect-error it answers once
		streamed: () => typed.stream("add", { a: 1, b: 2 }),
		// @ts-expect-error not what it takes
		misused: () => typed.execute("add", { a: "1" }),
		// @ts-expect-error what it takes is left out
		bare: () => typed.execute("add"),
		// @ts-expect-error what it takes is left out
		bareStream: () => typed.stream("primes"),
		// @ts-expect-error it takes nothing
		filled: () => typed.execute("words", { a: 1 }),
		sessionBare: (session: PoolSession<Tools>) =>
			// @ts-expect-error what it takes is left out
			session.execute("add"),
		nothing: () => typed.execute("words", {}, { priority: 1 }),
	};
	await expect(calls.executed()).rejects.toThrow();
});

test.each([Number.NaN, -1, Number.POSITIVE_INFINITY])(
	"a call whose adapter says that it ran for %d ms ends all the same, and is measured by the program",
	async (ranMs) => {
		const { pool, clock } = await virtualPoolOver(
			({ execute }) => ({
				execute: async (command, args, options) => {
					const answer = await execute(command, args, options);
					if (options.measured !== undefined) options.measured.ranMs = ranMs;
					options.beganAgo?.(ranMs);
					return answer;
				},
			}),
			{ commands: { work: scripts.work } },
		);
		await clock.advanceUntil(pool.execute("work", 50));
		const { count, minMs } = pool.statistics().run;
		expect([count, Math.round(minMs)]).toEqual([1, 50]);
	},
);

test("a call whose adapter rejects with what cannot be read fails as any other", async () => {
	const unreadable = new Proxy(new Error("hidden"), {
		get: () => {
			throw new Error("not to be read");
		},
	});
	const { pool } = await virtualPoolOver(
		() => ({ execute: () => Promise.reject(unreadable) }),
		{ commands: { work: scripts.work } },
	);
	expect(await outcome(pool.execute("work", 50))).toMatchObject({
		kind: "error",
		code: "TOOL_FAILED",
		error: { message: expect.stringContaining("a value that cannot be shown") },
	});
});

test("a stream that is a call's input is destroyed when the call ends, however it ends", async () => {
	const { pool } = await virtualPool(
		{
			commands: {
				/** Reads one item, and leaves. */
				one: async ({ input }: ScriptedCall) => {
					for await (const item of input ?? []) return item;
				},
				never: () => new Promise(() => {}),
			},
		},
		{ queue: { limit: 0 } },
	);
	const endless = () =>
		new Readable({
			objectMode: true,
			read() {
				this.push("item");
			},
		});
	const read = endless();
	expect(await pool.execute("one", undefined, { input: read })).toBe("item");
	// One that is waited for, and one that was not looked at.
	const silent = new Readable({ objectMode: true, read() {} });
	const abort = new AbortController();
	const { signal } = abort;
	const aborted = outcome(
		pool.execute("never", undefined, { input: silent, signal }),
	);
	const refused = endless();
	expect(
		await outcome(pool.execute("one", undefined, { input: refused })),
	).toMatchObject({ code: "QUEUE_FULL" });
	abort.abort();
	await aborted;
	expect([read, silent, refused].map(({ destroyed }) => destroyed)).toEqual([
		...[true, true, true],
	]);
});
