import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { reapDeadRuns } from "../../src/cleanup/reap-dead-runs.ts";
import { reap } from "../../src/cleanup/reaper.ts";
import { findDeadRuns } from "../../src/inspect/dead-runs.ts";
import { readHistory } from "../../src/inspect/history.ts";
import { reaperBench, start } from "./bench.ts";
import { craftRun, deadOwner, workerRow } from "./crafted-run.ts";
import { Host, isAlive, temporaryDirectory } from "./hosts.ts";

test("what a dead run left is found, then ended; its end is in the history, and no other run", async () => {
	const dataDir = temporaryDirectory();
	const dead = new Host({
		dataDir,
		workers: ["sleeps.sh", "ignores-sigterm.sh"],
	});
	const living = await new Host({ dataDir, workers: ["sleeps.sh"] }).up();
	const { runId, pids } = await dead.up();
	await dead.kill();

	const found = await findDeadRuns(dataDir);
	expect(found.living).toEqual([
		{ runId: living.runId, pid: living.self.pid, halted: "no" },
	]);
	expect(found.unclear).toEqual([]);
	expect(found.dead).toMatchObject([
		{ runId, program: "host-program.ts", spared: [] },
	]);
	// And what the second has started.
	expect(found.dead[0]?.orphans.map(({ pid }) => pid)).toEqual(
		expect.arrayContaining([...pids]),
	);
	expect(pids.map(isAlive)).toEqual([true, true]);

	const report = await reapDeadRuns({ dataDir });
	expect(report).toMatchObject({
		deadRuns: [runId],
		sparedProcesses: [],
		incidents: [],
	});
	expect([...pids, ...living.pids].map(isAlive)).toEqual([false, false, true]);
	const runs = await Array.fromAsync(readHistory({ dataDir }));
	expect(runs.map((run) => run.runId).toSorted()).toEqual(
		[runId, living.runId].toSorted(),
	);
	expect(runs.find((run) => run.runId === runId)).toMatchObject({
		state: "terminated",
		clean: false,
		endedBy: `command:${process.pid}`,
		killed: report.reaped.length,
	});
	expect(await reapDeadRuns({ dataDir })).toMatchObject({
		...{ deadRuns: [], found: 0 },
	});
});

test("of one run only its own is ended, recorded or not", async () => {
	const bench = reaperBench();
	const { dataDir } = bench;
	const dead = await Promise.all(
		[1, 2].map(async () => {
			const worker = await start("sleeps.sh");
			const run = await craftRun(dataDir, deadOwner(), {}, (runId) => [
				workerRow(runId, {
					identity: worker.identity,
					groupId: worker.groupId,
				}),
			]);
			return { run, marked: await start("sleeps.sh", run.marker), worker };
		}),
	);
	const [first, second] = dead;
	if (first === undefined || second === undefined) throw new Error("Two.");
	const pidsOf = ({ worker, marked }: typeof first): readonly number[] => [
		worker.identity.pid,
		marked.identity.pid,
	];
	const { runId } = first.run.name;
	expect(await reapDeadRuns({ dataDir, run: runId })).toMatchObject({
		deadRuns: [runId],
		found: 2,
		sparedRuns: [],
		sparedProcesses: [],
	});
	expect(pidsOf(first).map(isAlive)).toEqual([false, false]);
	expect(pidsOf(second).map(isAlive)).toEqual([true, true]);
	expect(existsSync(second.run.path)).toBe(true);
	expect(await reap(bench)).toMatchObject({
		deadRuns: [second.run.name.runId],
		found: 2,
	});
});

test("what cannot be judged from here is said and left alone", async () => {
	const dataDir = temporaryDirectory();
	const { name } = await craftRun(dataDir, deadOwner({ pidNamespace: "1" }));
	const spared = [{ runId: name.runId, reason: "other_pid_namespace" }];
	expect(await findDeadRuns(dataDir)).toMatchObject({
		...{ dead: [], unclear: spared },
	});
	expect(await reapDeadRuns({ dataDir })).toMatchObject({
		...{ deadRuns: [], sparedRuns: spared },
	});
});

test("where nothing ever ran, nothing is made", async () => {
	const place = temporaryDirectory();
	const dataDir = join(place, "absent");
	expect(await findDeadRuns(dataDir)).toEqual({
		...{ living: [], dead: [], unclear: [] },
	});
	expect(await reapDeadRuns({ dataDir })).toMatchObject({ deadRuns: [] });
	expect(readdirSync(place)).toEqual([]);
});
