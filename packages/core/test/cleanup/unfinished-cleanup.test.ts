import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { reap } from "../../src/cleanup/reaper.ts";
import { claimRun } from "../../src/cleanup/run-claim.ts";
import type { Incident } from "../../src/registry/incidents.ts";
import { reaperBench } from "./bench.ts";
import { deadOwner } from "./crafted-run.ts";
import {
	claimAsWatchdog,
	claimOf,
	detected,
	historyOf,
	NOTHING,
	reaped,
	reported,
	runOfAGuard,
} from "./incident-bench.ts";

test("while something of the run lives its directory stays, and what is written there is not reported yet", async () => {
	const bench = reaperBench();
	const crafted = await runOfAGuard(bench);
	const { runId } = crafted.name;
	const end = { reason: "vanished", killer: "unknown" } as const;
	const ends = [{ incarnation: `${runId}-1`, end }];
	const incomplete = { ...NOTHING, ends, complete: false };
	const claim = claimOf(claimRun(bench, crafted.name));
	expect(claim.settle(incomplete, [detected(runId)])).toEqual({ over: false });
	expect(reported(bench)).toEqual([detected(runId)]);
	expect(existsSync(crafted.run.directory)).toBe(true);
	await reap(bench);
	expect(reported(bench)).toMatchObject([{ wallMs: 5 }, { wallMs: 7 }]);
	// Its worker was the guard's from the first time on.
	expect(historyOf(bench, crafted)).toMatchObject({
		workers: [{ endedAt: 7, end: { reason: "reaped", killer: "protection" } }],
	});
});

test("a process that a watchdog reported before something was left to do is not reported again by what a guard wrote", async () => {
	const bench = reaperBench();
	const crafted = await runOfAGuard(bench);
	const { runId } = crafted.name;
	const identity = deadOwner({ pid: 4_194_302, startTime: "1" });
	const killed: Incident = {
		type: "protection.process_killed",
		wallMs: 4,
		protection: "watchdog",
		ofRun: runId,
		pid: identity.pid,
		startTime: identity.startTime,
		incarnation: `${runId}-1`,
		foundBy: "reported",
		signal: "SIGKILL",
	};
	claimAsWatchdog(bench, crafted).settle(
		{ ...NOTHING, complete: false, reaped: [reaped(runId, identity)] },
		[killed],
	);
	await reap(bench);
	expect(reported(bench)).toEqual([killed]);
	expect(historyOf(bench, crafted)).toMatchObject({ run: { killed: 1 } });
});

test("a worker that a reaper ended before something was left to do is not reported again by what a guard wrote", async () => {
	const bench = reaperBench();
	const crafted = await runOfAGuard(bench);
	const { runId } = crafted.name;
	const identity = deadOwner({ pid: 4_194_302, startTime: "1" });
	const end = { reason: "reaped", killer: "reaper" } as const;
	claimOf(claimRun(bench, crafted.name)).settle({
		...NOTHING,
		complete: false,
		reaped: [reaped(runId, identity)],
		ends: [{ incarnation: `${runId}-1`, end }],
	});
	await reap(bench);
	expect(reported(bench)).toEqual([]);
	expect(historyOf(bench, crafted)).toMatchObject({
		run: { killed: 1 },
		workers: [{ end }],
	});
});
