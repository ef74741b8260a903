import { describe, expect, test } from "vitest";
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
import type { Worker } from "../../src/worker/worker.ts";

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
