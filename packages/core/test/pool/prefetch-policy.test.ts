import { describe, expect, test } from "vitest";
import {
	isQuick,
	isWorthMoving,
	mayPrefetch,
	type PrefetchCandidate,
	type PrefetchWorker,
	prefetchRoom,
	recentMsAfter,
	windowAfterCall,
} from "../../src/pool/placement/prefetch-windows.ts";

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
