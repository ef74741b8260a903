import { existsSync, readdirSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { reap } from "../../src/cleanup/reaper.ts";
import { claimRun } from "../../src/cleanup/run-claim.ts";
import { readRunFile } from "../../src/registry/history.ts";
import { RunFile } from "../../src/registry/run-file.ts";
import { type RunLock, takeLock } from "../../src/registry/run-lock.ts";
import { CLAIMANT, reaperBench, sqlite } from "./bench.ts";
import { craftRun } from "./crafted-run.ts";
import {
	claimAsWatchdog,
	claimOf,
	detected,
	historyOf,
	NOTHING,
	reported,
	runOfAGuard,
} from "./incident-bench.ts";

test("what a watchdog saw stays with the run it settled; the next start reports it with the original times, once", async () => {
	const bench = reaperBench();
	const crafted = await craftRun(bench.dataDir);
	const { name, path } = crafted;
	const claim = claimAsWatchdog(bench, crafted);
	expect(readRunFile(sqlite, path, name)).toMatchObject({
		run: { claimedBy: `watchdog:${name.runId}` },
	});
	const later = { ...detected(name.runId, 9), protection: "guard" };
	expect(claim.settle(NOTHING, [later, detected(name.runId, 4)])).toEqual({
		over: true,
	});
	expect(reported(bench)).toEqual([]);
	expect(readRunFile(sqlite, path, name)).toMatchObject({
		run: {
			state: "terminated",
			clean: false,
			endedBy: `watchdog:${name.runId}`,
			cleanupMs: expect.any(Number),
		},
	});

	const report = await reap(bench);
	expect(reported(bench)).toEqual([detected(name.runId, 4), later]);
	expect(report).toMatchObject({ deadRuns: [], sparedRuns: [] });
	expect(readdirSync(bench.directory.runs)).toEqual([]);
	expect(historyOf(bench, crafted)).toMatchObject({ kind: "readable" });
	await reap(bench);
	expect(reported(bench).length).toBe(2);
});

test("what is in the table and is no incident is left out", async () => {
	const bench = reaperBench();
	const crafted = await craftRun(bench.dataDir);
	claimAsWatchdog(bench, crafted).settle(NOTHING, [
		detected(crafted.name.runId),
	]);
	const database = new Database(crafted.path);
	database.exec(
		"insert into incidents (wall_ms, event, reported) values (1, 'nonsense', 0)",
	);
	database.close();
	await reap(bench);
	expect(reported(bench)).toEqual([detected(crafted.name.runId)]);
});

test("of two starts one reports: the other sees that the lock is held, and reports nothing", async () => {
	const bench = reaperBench();
	const crafted = await craftRun(bench.dataDir);
	claimAsWatchdog(bench, crafted).settle(NOTHING, [
		detected(crafted.name.runId),
	]);
	const lock = takeLock(sqlite, crafted.lockPath) as RunLock;
	expect(claimRun(bench, crafted.name)).toEqual({ kind: "over" });
	expect(reported(bench)).toEqual([]);
	lock.release("kept");
	claimRun(bench, crafted.name);
	expect(reported(bench).length).toBe(1);
});

test("a watchdog leaves a run that is over to the next start", async () => {
	const bench = reaperBench();
	const crafted = await craftRun(bench.dataDir);
	claimAsWatchdog(bench, crafted).settle(NOTHING, [
		detected(crafted.name.runId),
	]);
	const { runId } = crafted.name;
	const watchdog = { ...bench, claimant: { kind: "watchdog", runId } as const };
	expect(claimRun(watchdog, crafted.name)).toEqual({ kind: "over" });
	expect(existsSync(crafted.path)).toBe(true);
	await reap(bench);
	expect(reported(bench).length).toBe(1);
});

test("what a guard wrote is reported by the reaper that settles the run, before its directory is removed", async () => {
	const bench = reaperBench();
	const crafted = await runOfAGuard(bench);
	await reap(bench);
	expect(reported(bench)).toMatchObject([
		{ type: "protection.process_killed", wallMs: 7, pid: 4_194_302 },
	]);
	expect(existsSync(crafted.run.directory)).toBe(false);
	expect(historyOf(bench, crafted)).toMatchObject({
		run: { endedBy: `reaper:${CLAIMANT}`, killed: 1 },
		// The time of the clean-up is another.
		workers: [{ endedAt: 7, end: { reason: "reaped", killer: "protection" } }],
	});
});

test("what a guard wrote a watchdog takes into the run's file", async () => {
	const bench = reaperBench();
	const crafted = await runOfAGuard(bench);
	claimAsWatchdog(bench, crafted).settle(NOTHING, [
		detected(crafted.name.runId),
	]);
	expect(existsSync(crafted.run.directory)).toBe(false);
	await reap(bench);
	expect(reported(bench)).toMatchObject([{ wallMs: 5 }, { wallMs: 7 }]);
});

test("a settlement that cannot be written reports nothing and removes nothing", async () => {
	const bench = reaperBench();
	const crafted = await runOfAGuard(bench);
	const claim = claimOf(claimRun(bench, crafted.name));
	const stranger = new Database(crafted.path);
	stranger.exec("begin immediate");
	expect(claim.settle(NOTHING)).toEqual({ over: false });
	stranger.close();
	expect(reported(bench)).toEqual([]);
	expect(existsSync(crafted.run.directory)).toBe(true);
	await reap(bench);
	expect(reported(bench).length).toBe(1);
});

test("who settled a run and died before its directory was gone: the next start removes it", async () => {
	const bench = reaperBench();
	const crafted = await runOfAGuard(bench);
	const file = RunFile.open(sqlite, crafted.path);
	file.commit((ledger) =>
		ledger.incidents.write(detected(crafted.name.runId), false),
	);
	file.writeEnds([], 9, { ...crafted.run, state: "terminated" });
	file.close("goes_on");
	await reap(bench);
	expect(reported(bench)).toEqual([detected(crafted.name.runId)]);
	expect(existsSync(crafted.run.directory)).toBe(false);
});

test("a run of no use is set aside by a start, not by a watchdog", async () => {
	const bench = reaperBench();
	const crafted = await craftRun(bench.dataDir);
	writeFileSync(crafted.path, "");
	expect(claimAsWatchdog(bench, crafted).settle(NOTHING)).toEqual({
		over: false,
	});
	expect(existsSync(crafted.path)).toBe(true);
	expect(claimOf(claimRun(bench, crafted.name)).settle(NOTHING)).toMatchObject({
		over: true,
	});
});
