import { expect, test } from "vitest";
import type {
	PoolSnapshot,
	RecentCallsSnapshot,
	RunningCall,
	RunSnapshot,
	StartsSnapshot,
} from "../src/controlled-run.ts";
import { verdict } from "../src/verdict.ts";
import {
	FakeRun,
	poolSnapshot,
	runningCall,
	workerSnapshot,
} from "./fake-run.ts";

function runOf(
	pools: readonly Partial<PoolSnapshot>[],
	more: Partial<RunSnapshot> = {},
): RunSnapshot {
	const run = new FakeRun();
	run.pools = pools.map(poolSnapshot);
	return { ...run.look(), ...more };
}

function verdictOf(...pools: readonly Partial<PoolSnapshot>[]) {
	const { level, text } = verdict(runOf(pools));
	return { level, text };
}

function waiting(
	number: number,
	oldestMs: number,
	limit: number | null = 1_000,
): PoolSnapshot["queue"] {
	return {
		...{ waiting: number, limit, counted: number, oldestMs, why: null },
		...{ byPriority: [], byCommand: [] },
	};
}

const budget = { spent: 2, max: 20, windowMs: 60_000 };
const starts = (more: Partial<StartsSnapshot>): StartsSnapshot => ({
	...{ failuresInARow: 0, budget, next: null },
	...more,
});
const lastFailure = {
	...{ wallMs: 1, workerId: "demo-0", code: "WORKER_EXITED_EARLY" },
	cause:
		"demo-0 (pid 7) exited with code 1 before it was ready: FileNotFoundError: /data: is the volume mounted?",
	lines: ["Traceback", "FileNotFoundError: /data: is the volume mounted?"],
};
const ended = {
	...lastFailure,
	cause: "demo-0 (pid 7) was ended by SIGSEGV: at images.py:6 in resize",
};
const FINE = "1 worker, 0 busy; no call waits.";
const recent = (ended: number, failed: number): RecentCallsSnapshot => ({
	...{ windowMs: 60_000, ended, failed },
	last: {
		...{ command: "query", code: "TOOL_FAILED" },
		message: "KeyError: 'pt-BR', at search.py:5",
	},
});
/** A moment so many seconds before the run is looked at. */
const ago = (seconds: number): number => 2 - seconds * 1_000;
const busyWorker = workerSnapshot({
	running: [runningCall({ command: "read", forMs: 40_000 })],
});

test.each<readonly [string, Partial<PoolSnapshot>, string, string]>([
	["works", {}, "fine", "1 worker, 0 busy; no call waits."],
	["is paused", { phase: "paused" }, "busy", "demo: paused; no call waits."],
	[
		"is paused with calls",
		{ phase: "paused", queue: waiting(3, 2_000) },
		"trouble",
		"demo: paused, 3 calls wait, the oldest for 2.0 s. Have the program call pool.resume().",
	],
	[
		"has lost its workers",
		{ workers: [] },
		"trouble",
		"demo: no worker is alive; no call waits. If it stays so, restart the program.",
	],
	[
		"has no worker yet",
		{ workers: [workerSnapshot({ state: "starting" })] },
		"busy",
		"demo: no worker is ready, 1 is starting; no call waits.",
	],
	[
		"starts a worker again after its first failure",
		{
			workers: [],
			starts: starts({
				failuresInARow: 2,
				next: { inMs: 300, after: "pause" },
			}),
			lastFailure,
		},
		"busy",
		"demo: no worker is alive, the next start is in 0.3 s; no call waits. The last error: demo-0 (pid 7) exited with code 1 before it was ready: FileNotFoundError: /data: is the volume mounted?",
	],
	[
		"fails to start a third time",
		{
			workers: [],
			starts: starts({
				failuresInARow: 3,
				next: { inMs: 700, after: "pause" },
			}),
			lastFailure,
			queue: waiting(12, 9_000),
		},
		"trouble",
		"demo: crash loop, 0 of 1 worker ready: demo-0 (pid 7) exited with code 1 before it was ready: FileNotFoundError: /data: is the volume mounted? 2 of 20 restarts in 60 s are spent, the next start is in 0.7 s; 12 calls wait, the oldest for 9.0 s. Mend what the error names: the pool tries again by itself.",
	],
	[
		"has spent its budget, though a worker is ready",
		{
			starts: starts({
				failuresInARow: 1,
				next: { inMs: 43_210, after: "budget" },
			}),
		},
		"trouble",
		"demo: crash loop, 1 of 1 worker ready. All 20 restarts of 60 s are spent, the next start is in 43 s; no call waits. Mend what the error names: the pool tries again by itself.",
	],
	[
		"needs no worker while no call waits",
		{ workers: [], size: { min: 0, max: 2 } },
		"fine",
		"0 workers, 0 busy; no call waits.",
	],
	[
		"is being closed",
		{ workers: [], phase: "closing" },
		"busy",
		"demo: closing; 0 calls still run.",
	],
	[
		"has a worker that does not answer",
		{
			workers: [
				workerSnapshot({
					heartbeat: { status: "suspect", silentMs: 12_000, missedInARow: 2 },
					running: [runningCall({ command: "read", forMs: 14_000 })],
				}),
			],
		},
		"trouble",
		"demo: worker demo-0 (pid 4242) has not answered for 12 s, and has run read for 14 s. See where it is: snakepit stacks demo-0. Its pool ends it after heartbeat.hungAfterMs.",
	],
	[
		"has a worker that computes and does not answer",
		{
			workers: [
				workerSnapshot({
					heartbeat: { status: "busy", silentMs: 12_000, missedInARow: 2 },
				}),
			],
		},
		"fine",
		"1 worker, 0 busy; no call waits.",
	],
	[
		"has calls that fail",
		{ recentCalls: recent(110, 27) },
		"trouble",
		"demo: 27 of the 110 calls of the last minute failed, last: query: TOOL_FAILED: KeyError: 'pt-BR', at search.py:5. See: snakepit calls --failed --run abcdefg.",
	],
	[
		"has few calls that fail",
		...([{ recentCalls: recent(4, 4) }, "fine", FINE] as const),
	],
	[
		"has a small part of its calls fail",
		...([{ recentCalls: recent(100, 5) }, "fine", FINE] as const),
	],
	[
		"has a little more of them fail",
		{ recentCalls: { ...recent(99, 5), last: null } },
		"trouble",
		"demo: 5 of the 99 calls of the last minute failed. See: snakepit calls --failed --run abcdefg.",
	],
	[
		"has workers that end again and again",
		{ starts: starts({ budget: { ...budget, spent: 4 } }), lastFailure: ended },
		"trouble",
		"demo: workers keep ending: 4 in 1 min, last: demo-0 (pid 7) was ended by SIGSEGV: at images.py:6 in resize. See: snakepit incidents --run abcdefg.",
	],
	[
		"has had two of its workers end",
		...([{ starts: starts({}), lastFailure: ended }, "fine", FINE] as const),
	],
	[
		"has workers that end each 45 s",
		{ failureTimes: [0, 45, 90, 135].map(ago), lastFailure: ended },
		"trouble",
		"demo: workers keep ending: 4 times in 5 min, last: demo-0 (pid 7) was ended by SIGSEGV: at images.py:6 in resize. See: snakepit incidents --run abcdefg.",
	],
	[
		"has had workers end each two minutes",
		...([
			{ failureTimes: [10, 130, 250, 370].map(ago), lastFailure: ended },
			...(["fine", FINE] as const),
		] as const),
	],
	[
		"is closing while its calls fail",
		{ phase: "closing", recentCalls: recent(9, 9) },
		...(["busy", "demo: closing; 0 calls still run."] as const),
	],
	[
		"has a call that waits on two workers",
		{
			...{ workers: [busyWorker, busyWorker], queue: waiting(1, 635_000) },
			size: { min: 2, max: 2 },
		},
		"trouble",
		"demo: 1 of at most 1000 call waits, both are busy; the oldest has waited 10 min; demo-0 has run read for 40 s. See what the workers do: snakepit top --pool demo. If the calls are as they should be: more workers (a greater size.max), or fewer calls at once.",
	],
	[
		"is busy",
		{ workers: [busyWorker], queue: waiting(3, 1_200) },
		"busy",
		"demo: 3 calls wait, the only worker is busy; the oldest has waited 1.2 s.",
	],
	[
		"has a call that has waited for long",
		{ workers: [busyWorker], queue: waiting(3, 31_000) },
		"trouble",
		"demo: 3 of at most 1000 calls wait, the only worker is busy; the oldest has waited 31 s; demo-0 has run read for 40 s. See what the workers do: snakepit top --pool demo. If the calls are as they should be: more workers (a greater size.max), or fewer calls at once.",
	],
	[
		"has a queue that is nearly full",
		{ workers: [busyWorker], queue: waiting(8, 100, 10) },
		"trouble",
		"demo: 8 of at most 10 calls wait, the only worker is busy; the oldest has waited 0.1 s; demo-0 has run read for 40 s. See what the workers do: snakepit top --pool demo. If the calls are as they should be: more workers (a greater size.max), or fewer calls at once.",
	],
])("a pool that %s", (_, pool, level, text) => {
	expect(verdictOf(pool)).toEqual({ level, text });
});

const usually = { calls: 200, longestMs: 1_200 };
/** A call that has run for 41 s. */
const longCall = (more: Partial<RunningCall> = {}) =>
	runningCall({
		...{ command: "report", callId: "c812", forMs: 41_000, usual: usually },
		...more,
	});
const longCalls = (
	calls: readonly RunningCall[],
	more: Partial<RunSnapshot> = {},
) => {
	const wallMs = new Date(2026, 4, 1, 12, 0, 41).getTime();
	const workers = [
		...calls.map((call, n) =>
			workerSnapshot({ workerId: `demo-${n}`, running: [call] }),
		),
		workerSnapshot({ workerId: "demo-9" }),
	];
	return verdict(runOf([{ workers }], { wallMs, ...more }));
};

test("a call that runs much longer than its command ever did is trouble beside free workers: with its input and what shows where it is", () => {
	expect(longCalls([longCall({ args: { id: 17 } })])).toMatchObject({
		level: "trouble",
		text: 'demo: demo-0 has run report (c812) for 41 s, since 12:00:00, with {"id":17}: longer than any of the last 200 calls of it, the longest took 1.2 s. See where it is: snakepit stacks demo-0.',
		findings: [{ kind: "long_call", workerId: "demo-0", words: "long call" }],
	});
	const { text } = longCalls([longCall(), longCall({ forMs: 90_000 })], {
		scopes: ["read", "act"],
	});
	expect(text).toMatch(
		/^demo: demo-1 has run report \(c812\) for 90 s, since 11:59:11: .*\. 1 more call has run for long: on demo-0\. See where it is: snakepit stacks demo-1\. End it: snakepit restart demo-1\.$/,
	);
});

test.each<readonly [string, Partial<RunningCall>, string, RegExp]>([
	[
		"is long by nature",
		{ usual: { calls: 10, longestMs: 20_000 } },
		...(["fine", /no call waits/] as const),
	],
	[
		"is not long yet",
		{ forMs: 29_000 },
		...(["fine", /no call waits/] as const),
	],
	[
		"reports progress",
		{ reportedMs: 2_000 },
		...(["busy", /1\.2 s; it reported progress 2\.0 s ago\. If/] as const),
	],
	[
		"has stopped reporting progress",
		{ forMs: 100_000, reportedMs: 61_000 },
		...(["trouble", /; it reported progress 61 s ago\. See/] as const),
	],
	[
		"is the first of its command, for a while",
		{ usual: { calls: 0, longestMs: 0 } },
		...(["fine", /no call waits/] as const),
	],
	[
		"is the first of its command",
		{ forMs: 61_000, usual: { calls: 0, longestMs: 0 } },
		...([
			"busy",
			/: no call of it has ended here yet\. If that is too long, see where it is: snakepit stacks demo-0\.$/,
		] as const),
	],
	[
		"is one of the first of its command",
		{ forMs: 61_000, usual: { calls: 3, longestMs: 2.5 } },
		...([
			"busy",
			/: only 3 calls of it have ended here, the longest took 2\.5 ms\./,
		] as const),
	],
	[
		"is a lease",
		{ forMs: 1e9, usual: null },
		...(["fine", /no call waits/] as const),
	],
	[
		"is cancelled",
		{ cancelled: true },
		...(["fine", /no call waits/] as const),
	],
	["has not begun", { attempt: 0 }, ...(["fine", /no call waits/] as const)],
])("a call that %s", (_, call, level, text) => {
	expect(longCalls([longCall(call)])).toMatchObject({
		...{ level, text: expect.stringMatching(text) },
	});
});

test("the remedy is a command where clients may act", () => {
	const scopes = ["read", "act"] as const;
	const remedy = (pool: Partial<PoolSnapshot>) =>
		verdict(runOf([pool], { scopes })).findings[0]?.remedy;
	expect(remedy({ phase: "paused", queue: waiting(1, 1) })).toBe(
		"Resume it: snakepit resume --pool demo.",
	);
	expect(
		remedy({ workers: [], starts: starts({ failuresInARow: 3 }) }),
	).toContain("snakepit restart demo-0");
	expect(
		remedy({ workers: [busyWorker], queue: waiting(8, 100, 10) }),
	).toContain("snakepit resize --pool demo --max 2");
});

test("all that is wrong is found, the worst first, and the verdict is that", () => {
	const run = runOf(
		[
			{ pool: "images", phase: "paused" },
			{ workers: [busyWorker], queue: waiting(3, 1_200) },
			{ pool: "pages", workers: [], starts: starts({ failuresInARow: 5 }) },
			{ pool: "late", phase: "paused", queue: waiting(1, 1) },
			{ pool: "search", recentCalls: recent(9, 9) },
			{ pool: "maps", starts: starts({ budget: { ...budget, spent: 3 } }) },
		],
		{ unwritten: 2 },
	);
	const { level, text, findings } = verdict(run);
	expect(
		findings.map(({ kind, level, pool, words }) => [kind, level, pool, words]),
	).toEqual([
		["crash_loop", "trouble", "pages", "crash loop"],
		["workers_end", "trouble", "maps", "workers end"],
		["calls_fail", "trouble", "search", "calls fail"],
		["unwritten_ledger", "trouble", null, "ledger unwritten"],
		["paused", "trouble", "late", "paused"],
		["paused", "busy", "images", "paused"],
		["waiting", "busy", "demo", "all busy"],
	]);
	expect(level).toBe("trouble");
	expect(text).toMatch(/^pages: crash loop, 0 of 1 worker ready\. /);
	expect(verdictOf({}, { pool: "images", phase: "paused" }).text).toBe(
		"images: paused; no call waits.",
	);
});
