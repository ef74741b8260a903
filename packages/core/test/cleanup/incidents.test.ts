import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { ReapedProcess } from "../../src/cleanup/cleanup-report.ts";
import { reap } from "../../src/cleanup/reaper.ts";
import {
	type ClaimOutcome,
	claimRun,
	type RunClaim,
	type Settlement,
} from "../../src/cleanup/run-claim.ts";
import type { ProcessIdentity, RunId } from "../../src/contract/identity.ts";
import { readRunFile } from "../../src/registry/history.ts";
import type { Incident } from "../../src/registry/incidents.ts";
import { RunFile } from "../../src/registry/run-file.ts";
import { type RunLock, takeLock } from "../../src/registry/run-lock.ts";
import { runPath } from "../../src/registry/run-name.ts";
import { CLAIMANT, reaperBench, sqlite } from "./bench.ts";
import {
	type CraftedRun,
	craftRun,
	deadOwner,
	workerRow,
} from "./crafted-run.ts";

const NOTHING: Settlement = {
	reaped: [],
	spared: [],
	ends: [],
	complete: true,
};

type Bench = ReturnType<typeof reaperBench>;

function detected(ofRun: RunId, wallMs = 5): Incident {
	return {
		type: "protection.host_death_detected",
		wallMs,
		protection: "watchdog",
		ofRun,
		pid: 70,
	};
}

/** A dead run with a private directory, one worker, and what a guard wrote. */
async function runOfAGuard(bench: Bench): Promise<CraftedRun> {
	const base = join(bench.dataDir, "temporary");
	mkdirSync(base);
	const crafted = await craftRun(bench.dataDir, deadOwner(), {}, (runId) => [
		workerRow(runId, {
			identity: deadOwner({ pid: 4_194_302, startTime: "1" }),
		}),
	]);
	const { runId } = crafted.name;
	const directory = join(base, `snakepit-${runId}-abcdef`);
	mkdirSync(directory, { mode: 0o700 });
	const killed: Incident = {
		type: "protection.process_killed",
		wallMs: 7,
		protection: "guard",
		ofRun: runId,
		pid: 4_194_302,
		startTime: "1",
		incarnation: `${runId}-1`,
		foundBy: "descent",
		signal: "SIGKILL",
	};
	writeFileSync(
		join(directory, "incidents.guard.jsonl"),
		`${JSON.stringify(killed)}\nnonsense\n`,
	);
	const database = new Database(crafted.path);
	database.prepare("update runs set directory = ?").run(directory);
	database.close();
	return { ...crafted, run: { ...crafted.run, directory } };
}

function reaped(ofRun: RunId, identity: ProcessIdentity): ReapedProcess {
	const { pid } = identity;
	const incarnation = `${ofRun}-1`;
	return {
		ofRun,
		pid,
		identity,
		incarnation,
		how: "killed",
		foundBy: "ledger",
	};
}

function claimOf(outcome: ClaimOutcome): RunClaim {
	if (outcome.kind !== "claimed") throw new Error(`It is ${outcome.kind}.`);
	return outcome.claim;
}

/** Claims as the run's own watchdog. */
function claimAsWatchdog(bench: Bench, crafted: CraftedRun): RunClaim {
	const { name } = crafted;
	const claimant = { kind: "watchdog", runId: name.runId } as const;
	return claimOf(claimRun({ ...bench, claimant }, name));
}

function reported(bench: Bench): readonly unknown[] {
	return bench.events.events.filter(({ type }) =>
		type.startsWith("protection."),
	);
}

function historyOf(bench: Bench, { name }: CraftedRun): unknown {
	const path = runPath(bench.directory.history, name, "db");
	return readRunFile(sqlite, path, name);
}

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
