import { expect, test } from "vitest";
import type {
	PoolSnapshot,
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
		],
		{ unwritten: 2 },
	);
	const { level, text, findings } = verdict(run);
	expect(
		findings.map(({ kind, level, pool, words }) => [kind, level, pool, words]),
	).toEqual([
		["crash_loop", "trouble", "pages", "crash loop"],
		["unwritten_ledger", "trouble", null, "ledger unwritten"],
		["paused", "busy", "images", "paused"],
		["waiting", "busy", "demo", "all busy"],
	]);
	expect(level).toBe("trouble");
	expect(text).toMatch(/^pages: crash loop, 0 of 1 worker ready\. /);
	expect(verdictOf({}, { pool: "images", phase: "paused" }).text).toBe(
		"images: paused; no call waits.",
	);
});
