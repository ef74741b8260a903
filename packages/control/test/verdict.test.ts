import { expect, test } from "vitest";
import type { PoolSnapshot } from "../src/controlled-run.ts";
import { verdict } from "../src/verdict.ts";
import { FakeRun, poolSnapshot, workerSnapshot } from "./fake-run.ts";

function verdictOf(...pools: readonly Partial<PoolSnapshot>[]) {
	const run = new FakeRun();
	run.pools = pools.map(poolSnapshot);
	return verdict(run.look());
}

test.each<readonly [string, Partial<PoolSnapshot>, string, string]>([
	["works", {}, "fine", "1 worker, 0 busy; no call waits."],
	["is paused", { phase: "paused" }, "busy", "demo: paused; no call waits."],
	[
		"has lost its workers",
		{ workers: [] },
		"trouble",
		"demo: no worker is alive; no call waits.",
	],
	[
		"has no worker yet",
		{ workers: [workerSnapshot({ state: "starting" })] },
		"busy",
		"demo: no worker is ready, 1 is starting; no call waits.",
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
		"fine",
		"0 workers, 0 busy; no call waits.",
	],
])("a pool without calls that %s is in the verdict", (_, pool, level, text) => {
	expect(verdictOf(pool)).toEqual({ level, text });
});

test("the verdict is that of the pool that is worst off", () => {
	const paused = { pool: "images", phase: "paused" } as const;
	expect(verdictOf(paused, { workers: [] }).text).toMatch(/^demo: no worker/);
	expect(verdictOf({}, paused).text).toBe("images: paused; no call waits.");
});
