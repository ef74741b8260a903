import { describe, expect, test } from "vitest";
import type {
	AttemptInstrument,
	Instrument,
} from "../../src/contract/instrument.ts";
import type { Call } from "../../src/pool/calls/call.ts";
import type { CallAttempt } from "../../src/pool/calls/call-attempt.ts";
import {
	isQuick,
	isWorthMoving,
	mayPrefetch,
	type PrefetchCandidate,
	PrefetchWindows,
	type PrefetchWorker,
	prefetchRoom,
	recentMsAfter,
	windowAfterCall,
} from "../../src/pool/placement/prefetch-windows.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import type { Worker } from "../../src/worker/worker.ts";
import {
	outcome,
	type VirtualPool,
	virtualPool,
	virtualPoolOver,
} from "./virtual-pool.ts";

const worker = {
	ref: { incarnation: "i-1" },
	calls: { attempts: [{ command: "echo", startedMs: 0 }], taken: 1 },
	connection: { prefetch: { admits: () => true } },
} as unknown as Worker;

function callOf(command: string): Call {
	return {
		command,
		work: { shape: "unary" },
		attempts: 0,
		timesRecalled: 0,
		state: { kind: "waiting" },
	} as unknown as Call;
}

/** Windows of one worker that has begun a call. */
function windows(): PrefetchWindows {
	const prefetch = new PrefetchWindows(Infinity, () => true);
	prefetch.changed(worker);
	return prefetch;
}

test("a tool is quick after a call that ran for a short time", () => {
	const prefetch = windows();
	expect(prefetch.admits(worker, callOf("echo"))).toBe(false);
	prefetch.ended(worker, "echo", 0.2);
	expect(prefetch.admits(worker, callOf("echo"))).toBe(true);
	prefetch.ended(worker, "echo", 50);
	expect(prefetch.admits(worker, callOf("echo"))).toBe(false);
});

test("nothing is known of a command whose calls did not run, such as one that does not exist", () => {
	const prefetch = windows();
	prefetch.ended(worker, "no_such_tool", undefined);
	expect(prefetch.admits(worker, callOf("no_such_tool"))).toBe(false);
});

/** Two workers, each with a call since the beginning. */
function twoWorkers() {
	const prefetch = new PrefetchWindows(Infinity, () => true);
	const [one, other] = ["i-1", "i-2"].map((incarnation) => ({
		ref: { incarnation },
		calls: { attempts: [{ command: "echo", startedMs: 0 }], taken: 1 },
		connection: { prefetch: { admits: () => true } },
	})) as unknown as [Worker, Worker];
	for (const each of [one, other]) prefetch.changed(each);
	const add = (each: Worker, priority = 0): void =>
		prefetch.add({
			worker: each,
			call: { ...callOf("echo"), priority },
		} as CallAttempt);
	return { prefetch, one, other, add };
}

test("a worker has less urgent calls than a new one as long as one waits in it", () => {
	const { prefetch, one, other, add } = twoWorkers();
	expect(prefetch.lessUrgentThan(9)).toBeUndefined();
	add(one, 3);
	expect(prefetch.lessUrgentThan(3)).toBeUndefined();
	expect(prefetch.lessUrgentThan(4)).toBe(one);
	expect(prefetch.lessUrgentThan(4, one)).toBe(one);
	expect(prefetch.lessUrgentThan(4, other)).toBeUndefined();
	add(other, 1);
	expect(prefetch.lessUrgentThan(2)).toBe(other);
	expect(prefetch.lessUrgentThan(2, one)).toBeUndefined();
	expect(prefetch.lessUrgentThan(4, other)).toBe(other);
	expect(prefetch.clear(one)).toHaveLength(1);
	expect(prefetch.clear(other)).toHaveLength(1);
	expect(prefetch.lessUrgentThan(9)).toBeUndefined();
	expect(prefetch.size).toBe(0);
});

test("calls that wait behind one that has run for 2 ms had better run elsewhere", () => {
	const { one, other, add, prefetch } = twoWorkers();
	add(other);
	expect(prefetch.slow(1.9)).toEqual([]);
	// No call waits in the other one.
	expect(prefetch.slow(2)).toEqual([other]);
	prefetch.clear(other);
	expect(prefetch.slow(12)).toEqual([]);
	add(one);
	expect(prefetch.slow(12)).toEqual([one]);
});

test("the calls of the worker with the most of them are worth moving, if they are half a millisecond of work", () => {
	const { prefetch, one, other, add } = twoWorkers();
	prefetch.ended(one, "echo", 0.2);
	expect(prefetch.worthMoving()).toBeUndefined();
	for (const each of [one, other, other]) add(each);
	expect(prefetch.worthMoving()).toBeUndefined();
	add(other);
	expect(prefetch.worthMoving()).toBe(other);
});

test("a worker has room for four calls at first, none after they were recalled, and more with each call that ends", () => {
	const { prefetch, one, add } = twoWorkers();
	expect(prefetch.hasRoom(one)).toBe(false);
	prefetch.ended(one, "echo", 0.2);
	prefetch.changed(one);
	expect(prefetch.hasRoom(one)).toBe(true);
	for (let n = 0; n < 5; n++) {
		expect(prefetch.hasRoom(one)).toBe(true);
		add(one);
	}
	expect(prefetch.hasRoom(one)).toBe(false);
	prefetch.clear(one);
	expect(prefetch.hasRoom(one)).toBe(false);
	prefetch.ended(one, "echo", 0.2);
	prefetch.changed(one);
	expect(prefetch.hasRoom(one)).toBe(true);
	prefetch.forget(one);
	expect(prefetch.hasRoom(one)).toBe(false);
});

describe("a tool is quick", () => {
	test.each([
		[undefined, false],
		[0, true],
		[0.99, true],
		[1, false],
		[50, false],
	])("with a mean of %s ms: %s", (recentMs, quick) => {
		expect(isQuick(recentMs)).toBe(quick);
	});

	test("again some calls after a slow one, and at once after a first quick one", () => {
		expect(recentMsAfter(undefined, 0.05)).toBe(0.05);
		let mean = recentMsAfter(0.05, 50);
		let calls = 0;
		for (; !isQuick(mean); calls++) mean = recentMsAfter(mean, 0.05);
		expect(calls).toBe(15);
	});
});

describe("a call may be prefetched", () => {
	const plain: PrefetchCandidate = {
		work: { shape: "unary" },
		session: undefined,
		input: undefined,
		instrument: undefined,
		attempts: 0,
		timesRecalled: 0,
	};
	test.each<[string, Partial<PrefetchCandidate>, boolean]>([
		["with one answer and nothing else", {}, true],
		["that streams", { work: { shape: "stream" } }, false],
		["of a session that is there", { session: { incarnation: "i-1" } }, true],
		["of a session elsewhere", { session: { incarnation: "i-2" } }, false],
		[
			"of a session without a place",
			{ session: { incarnation: undefined } },
			false,
		],
		["with input", { input: {} }, false],
		["whose instrument needs an attempt", { instrument: {} }, false],
		[
			"whose instrument has headers",
			{ instrument: { prefetched: () => ({}) } },
			true,
		],
		["that is made again", { attempts: 1 }, false],
		["that was taken back before", { timesRecalled: 1 }, false],
	])("%s: %j -> %s", (_, more, may) => {
		expect(mayPrefetch({ ...plain, ...more }, "i-1")).toBe(may);
	});
});

describe("a worker has room", () => {
	const worker: PrefetchWorker = {
		accepts: true,
		running: 1,
		prefetched: 0,
		recentMs: 0.1,
		window: 4,
		callsLeft: Number.POSITIVE_INFINITY,
	};
	test.each<[string, Partial<PrefetchWorker>, number]>([
		["behind a quick call", {}, 4],
		["for what is left of its window", { prefetched: 3 }, 1],
		["not beyond it", { prefetched: 5 }, 0],
		["not while it takes none", { accepts: false }, 0],
		["not while it runs none", { running: 0 }, 0],
		["not while two may run", { running: 2 }, 0],
		["not behind a slow one", { recentMs: 3 }, 0],
		["not behind one that nothing is known of", { recentMs: undefined }, 0],
		["not after calls were taken back", { window: 0 }, 0],
		["up to the calls it may still take", { prefetched: 1, callsLeft: 2 }, 1],
		["not beyond them", { callsLeft: -1 }, 0],
	])("%s: %j -> %d", (_, more, room) => {
		expect(prefetchRoom({ ...worker, ...more })).toBe(room);
	});

	test("for 4 calls at first, and for up to 16 as calls end", () => {
		const sizes = [0];
		for (let n = 0; n < 14; n++)
			sizes.push(windowAfterCall(sizes.at(-1) as number));
		expect(sizes.slice(0, 3)).toEqual([0, 4, 5]);
		expect(sizes.slice(-3)).toEqual([15, 16, 16]);
	});
});

test.each([
	[1, 100, false],
	[2, 0.1, false],
	[16, 0.02, false],
	[2, 0.3, true],
	[16, 0.05, true],
	[4, undefined, false],
])(
	"%d calls of %s ms are worth moving to an idle worker: %s",
	(prefetched, recentMs, worth) => {
		expect(isWorthMoving(prefetched, recentMs)).toBe(worth);
	},
);

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
		const { pool, clock, adapter } = await quickPool(work, {}, 2);
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
	},
);

test("a call of a session that has no worker yet is not prefetched", async () => {
	const { pool, clock, adapter } = await quickPool(scripts.work);
	const calls = [pool.execute("work", 1)];
	const session = pool.session({ affinity: "strict" });
	calls.push(session.execute("work", 1));
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(0);
	await clock.advance(100);
	await Promise.all(calls);
});

test("a strict session whose worker dies loses the calls that waited there", async () => {
	const { pool, clock, adapter } = await quickPool(scripts.work);
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
});

test("an urgent call runs before less urgent ones that wait in a worker: they are taken back", async () => {
	const order: unknown[] = [];
	const work = (call: ScriptedCall): unknown => {
		order.push(call.args);
		return scripts.work({ ...call, args: 0.2 });
	};
	const { pool, clock, adapter } = await quickPool(work);
	order.length = 0;
	const calls = ["first", "second", "third"].map((name) =>
		pool.execute("work", name),
	);
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(2);
	calls.push(pool.execute("work", "urgent", { priority: 1 }));
	await clock.advance(100);
	await Promise.all(calls);
	expect(order).toEqual(["first", "urgent", "second", "third"]);
});

test("calls that wait in a worker move to one that has nothing to do any more", async () => {
	const ranOn: string[] = [];
	const work = (call: ScriptedCall): unknown => {
		ranOn.push(call.worker.slot.workerId);
		const args = call.worker.slot.workerId === "scripted-0" ? 0.9 : 0.1;
		return scripts.work({ ...call, args });
	};
	const { pool, clock, adapter } = await quickPool(work, {}, 2);
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
});

test("the wait of a call counts from its beginning, also when it goes on in a worker", async () => {
	const { pool, clock, events } = await quickPool(scripts.work);
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
});

test("a call that is answered before its turn waits no more", async () => {
	const { pool, clock } = await virtualPoolOver(
		({ execute }) => ({
			execute: async (command, args, options) =>
				args === "early" ? "answer" : execute(command, args, options),
		}),
		{ commands: { work: scripts.work }, prefetch: { gapMs: 0 } },
	);
	await clock.advanceUntil(pool.execute("work", 0));
	const first = pool.execute("work", 1);
	const early = pool.execute("work", "early");
	expect(pool.statistics().calls.waiting).toBe(1);
	expect(await early).toBe("answer");
	expect(pool.statistics().calls).toMatchObject({ waiting: 0, running: 1 });
	await clock.advanceUntil(first);
});

test("a call whose arguments cannot be looked at waits here, and neither it nor another call is lost", async () => {
	const { pool, clock } = await virtualPoolOver(
		({ prefetch }) => ({
			prefetch: {
				// As a look at a getter that throws does.
				admits: () => {
					throw new Error("not loaded");
				},
				recall: (callId) => prefetch?.recall(callId) ?? new Set(),
			},
		}),
		{ commands: { work: scripts.work }, prefetch: { gapMs: 0 } },
	);
	await clock.advanceUntil(pool.execute("work", 0));
	const calls = [1, 2, 3].map((ms) => outcome(pool.execute("work", ms)));
	await clock.advance(1_000);
	expect(await Promise.all(calls)).toMatchObject(
		calls.map(() => ({ kind: "value" })),
	);
	expect(pool.statistics().calls).toMatchObject({ waiting: 0, running: 0 });
});

test("no more than sixteen calls wait in a worker, also where they are of one session that it alone may run", async () => {
	const { pool, clock, adapter } = await quickPool(scripts.work);
	const session = pool.session({ affinity: "strict" });
	for (let call = 0; call < 20; call++)
		await clock.advanceUntil(session.execute("work", 0));
	const calls = Array.from({ length: 40 }, () => session.execute("work", 0.1));
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(16);
	await clock.advance(100);
	await Promise.all(calls);
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(16);
});

test("a map has the next items of a quick tool with its worker, and no more than a slow one can run", async () => {
	const { pool, clock, adapter } = await quickPool(scripts.work);
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
});
