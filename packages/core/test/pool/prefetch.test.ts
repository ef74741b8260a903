import { expect, test } from "vitest";
import type {
	AttemptInstrument,
	Instrument,
} from "../../src/contract/instrument.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import {
	closedVirtualPool,
	outcome,
	overConnections,
	type VirtualPool,
	virtualPool,
} from "./virtual-pool.ts";

type Target = VirtualPool["pool"];

/** A pool that knows its tool to be quick. */
async function quickPool(
	work: (call: ScriptedCall) => unknown,
	options: Parameters<typeof virtualPool>[1] = {},
	size = 1,
): Promise<VirtualPool> {
	const opened = await virtualPool(
		{ commands: { work }, prefetch: { gapMs: 0 } },
		{ size, ...options },
	);
	const first = opened.pool.execute("work", 0);
	await opened.clock.advance(10);
	await first;
	return opened;
}

test.each(["hint", "strict"] as const)(
	"calls of a session (%s) are prefetched where the session is, and nowhere else",
	async (affinity) => {
		const ranOn: string[] = [];
		const work = (call: ScriptedCall): unknown => {
			ranOn.push(call.worker.slot.workerId);
			return scripts.work(call);
		};
		const { pool, clock, adapter, close } = await quickPool(work, {}, 2);
		const session = pool.session({ affinity });
		const first = session.execute("work", 0);
		await clock.advance(10);
		await first;
		const home = ranOn.at(-1);
		ranOn.length = 0;
		// Both workers are busy, so that a call of the session waits for its own.
		const calls = Array.from({ length: 2 }, () => pool.execute("work", 1));
		const ofSession = Array.from({ length: 3 }, () =>
			session.execute("work", 1),
		);
		const waiting = adapter.workers.map(
			({ slot, mostCallsWaiting }) =>
				[slot.workerId, mostCallsWaiting] as const,
		);
		expect(waiting).toContainEqual([home, 3]);
		expect(waiting.filter(([, most]) => most > 0)).toHaveLength(1);
		await clock.advance(100);
		await Promise.all([...calls, ...ofSession]);
		expect(ranOn.filter((id) => id === home)).toHaveLength(4);
		await close();
	},
);

test("a call of a session that has no worker yet is not prefetched", async () => {
	const { pool, clock, adapter, close } = await quickPool(scripts.work);
	const calls = [pool.execute("work", 1)];
	const session = pool.session({ affinity: "strict" });
	calls.push(session.execute("work", 1));
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(0);
	await clock.advance(100);
	await Promise.all(calls);
	await close();
});

test("a strict session whose worker dies loses the calls that waited there", async () => {
	const { pool, clock, adapter, close } = await quickPool(scripts.work);
	const session = pool.session({ affinity: "strict" });
	const first = session.execute("work", 0);
	await clock.advance(10);
	await first;
	const calls = Array.from({ length: 4 }, () =>
		session.execute("work", 1).catch((error: unknown) => error),
	);
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(3);
	adapter.living()[0]?.crash();
	await clock.advance(1_000);
	const [head, ...behind] = await Promise.all(calls);
	expect(head).toMatchObject({ ran: "maybe" });
	for (const error of behind)
		expect(error).toMatchObject({ code: "SESSION_LOST", ran: "no" });
	await close();
});

/** Records what it is called with. */
function followed(prefetched?: () => Record<string, string>): {
	readonly instrument: Instrument;
	readonly dispatched: string[];
} {
	const dispatched: string[] = [];
	const attempt: AttemptInstrument = {
		traceContext: { of: "attempt" },
		backCall: (_, run) => run(),
		cancelled: () => {},
		released: () => {},
	};
	const instrument: Instrument = {
		attach: () => ({
			hear: () => {},
			accept: () => ({
				queued: () => {},
				dispatched: ({ prefetched }) => {
					dispatched.push(prefetched ? "prefetched" : "to run");
					return attempt;
				},
				retried: () => {},
				settled: () => {},
				...(prefetched && { prefetched }),
			}),
		}),
	};
	return { instrument, dispatched };
}

async function fourCalls(
	{ pool, clock }: Awaited<ReturnType<typeof quickPool>>,
	target: Target = pool,
): Promise<unknown[]> {
	const calls = Array.from({ length: 4 }, () => target.execute("work", 1));
	await clock.advance(100);
	return await Promise.all(calls);
}

/** Answers with the headers that came with the call. */
const headersOf = async (call: ScriptedCall): Promise<unknown> => {
	await scripts.work(call);
	return call.traceContext;
};

test("an instrument that has headers without an attempt follows calls that are prefetched", async () => {
	const { instrument, dispatched } = followed(() => ({ of: "call" }));
	const opened = await quickPool(headersOf, { instruments: [instrument] });
	expect(await fourCalls(opened)).toEqual([
		{ of: "attempt" },
		...Array(3).fill({ of: "call" }),
	]);
	expect(opened.adapter.workers[0]?.mostCallsWaiting).toBe(3);
	expect(dispatched).toEqual([
		"to run",
		"to run",
		"prefetched",
		"prefetched",
		"prefetched",
	]);
	await opened.close();
});

test("one instrument that has none keeps calls from being prefetched", async () => {
	const one = followed(() => ({ of: "call" }));
	const other = followed();
	for (const instruments of [
		[one.instrument, other.instrument],
		[other.instrument, one.instrument],
	]) {
		const opened = await quickPool(headersOf, { instruments });
		expect(await fourCalls(opened)).toEqual(Array(4).fill({ of: "attempt" }));
		expect(opened.adapter.workers[0]?.mostCallsWaiting).toBe(0);
		await opened.close();
	}
});

test("a call that makes a back-call counts as begun, even if the host did not know that it had", async () => {
	const { instrument, dispatched } = followed(() => ({ of: "call" }));
	const opened = await quickPool(
		async (call) => {
			await scripts.work(call);
			return await call.backCall?.(
				{ function: "f", traceContext: {} },
				async () => dispatched.length,
			);
		},
		{ instruments: [instrument] },
	);
	expect(await fourCalls(opened)).toEqual([2, 3, 4, 5]);
	await opened.close();
});

test("an urgent call runs before less urgent ones that wait in a worker: they are taken back", async () => {
	const order: unknown[] = [];
	const work = (call: ScriptedCall): unknown => {
		order.push(call.args);
		return scripts.work({ ...call, args: 0.2 });
	};
	const { pool, clock, adapter, close } = await quickPool(work);
	order.length = 0;
	const calls = ["first", "second", "third"].map((name) =>
		pool.execute("work", name),
	);
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(2);
	calls.push(pool.execute("work", "urgent", { priority: 1 }));
	await clock.advance(100);
	await Promise.all(calls);
	expect(order).toEqual(["first", "urgent", "second", "third"]);
	await close();
});

test("calls that wait in a worker move to one that has nothing to do any more", async () => {
	const ranOn: string[] = [];
	const work = (call: ScriptedCall): unknown => {
		ranOn.push(call.worker.slot.workerId);
		const args = call.worker.slot.workerId === "scripted-0" ? 0.9 : 0.1;
		return scripts.work({ ...call, args });
	};
	const { pool, clock, adapter, close } = await quickPool(work, {}, 2);
	const warm = [1, 2].map(() => pool.execute("work"));
	await clock.advance(10);
	await Promise.all(warm);
	ranOn.length = 0;
	const calls = Array.from({ length: 10 }, () => pool.execute("work"));
	for (const { mostCallsWaiting } of adapter.workers)
		expect(mostCallsWaiting).toBe(4);
	await clock.advance(100);
	await Promise.all(calls);
	const slow = ranOn.filter((id) => id === "scripted-0").length;
	expect(slow).toBeLessThan(5);
	await close();
});

test("the wait of a call counts from its beginning, also when it goes on in a worker", async () => {
	const { pool, clock, events, close } = await quickPool(scripts.work);
	pool.pause();
	const calls = [1, 2, 3].map(() => pool.execute("work", 0));
	await clock.advance(100);
	pool.resume();
	await clock.advance(100);
	await Promise.all(calls);
	expect(
		events
			.of("call.dispatched")
			.slice(-3)
			.map(({ waitedMs }) => Math.round(waitedMs)),
	).toEqual([100, 100, 100]);
	await close();
});

test("a call that is answered before its turn waits no more", async () => {
	const scene = closedVirtualPool({
		commands: { work: scripts.work },
		prefetch: { gapMs: 0 },
	});
	const { pool, life, adapter, clock, close } = scene;
	overConnections(adapter, (connection) => ({
		execute: (command, args, options) =>
			args === "early"
				? Promise.resolve("answer")
				: connection.execute(command, args, options),
	}));
	await Promise.all([life.open(), clock.advance(0)]);
	await clock.advanceUntil(pool.execute("work", 0));
	const first = pool.execute("work", 1);
	const early = pool.execute("work", "early");
	expect(pool.statistics().calls.waiting).toBe(1);
	expect(await early).toBe("answer");
	expect(pool.statistics().calls).toMatchObject({ waiting: 0, running: 1 });
	await clock.advanceUntil(first);
	await close();
});

test("a call whose arguments cannot be looked at waits here, and neither it nor another call is lost", async () => {
	const opened = closedVirtualPool({
		commands: { work: scripts.work },
		prefetch: { gapMs: 0 },
	});
	const { pool, clock, adapter, life, events, close } = opened;
	overConnections(adapter, ({ prefetch }) => ({
		prefetch: {
			// As a look at a getter that throws does.
			admits: () => {
				throw new Error("not loaded");
			},
			recall: (callId) => prefetch?.recall(callId) ?? new Set(),
		},
	}));
	await Promise.all([life.open(), clock.advance(0)]);
	await clock.advanceUntil(pool.execute("work", 0));
	const calls = [1, 2, 3].map((ms) => outcome(pool.execute("work", ms)));
	await clock.advance(1_000);
	expect(await Promise.all(calls)).toMatchObject(
		calls.map(() => ({ kind: "value" })),
	);
	expect(pool.statistics().calls).toMatchObject({ waiting: 0, running: 0 });
	await close();
	events.assertPaired();
});

test("no more than sixteen calls wait in a worker, also where they are of one session that it alone may run", async () => {
	const { pool, clock, adapter, close } = await quickPool(scripts.work);
	const session = pool.session({ affinity: "strict" });
	for (let call = 0; call < 20; call++)
		await clock.advanceUntil(session.execute("work", 0));
	const calls = Array.from({ length: 40 }, () => session.execute("work", 0.1));
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(16);
	await clock.advance(100);
	await Promise.all(calls);
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(16);
	await close();
});

test("a map has the next items of a quick tool with its worker, and no more than a slow one can run", async () => {
	const { pool, clock, adapter, close } = await quickPool(scripts.work);
	const most = { quick: 0, slow: 0 };
	const items = [...Array(100).fill(0), ...Array(100).fill(5)];
	let done = 0;
	const results = Array.fromAsync(
		pool.map("work", items, {
			onProgress: ({ running }) => {
				const kind = ++done < 100 ? "quick" : "slow";
				// The first of the slow ones were taken as quick ones.
				if (done < 100 || done > 150)
					most[kind] = Math.max(most[kind], running);
			},
		}),
	);
	await clock.advanceUntil(results);
	expect(most.quick).toBe(16);
	expect(most.slow).toBe(0);
	expect(adapter.workers[0]?.mostCallsWaiting).toBeGreaterThan(8);
	await close();
});
