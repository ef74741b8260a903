import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import type { Orphan } from "../../src/cleanup/orphan-search.ts";
import { ProcessKiller } from "../../src/cleanup/process-killer.ts";
import { reap } from "../../src/cleanup/reaper.ts";
import {
	type RunSettlement,
	type SettledRun,
	settleRun,
} from "../../src/cleanup/settle-run.ts";
import type { RunId } from "../../src/contract/identity.ts";
import { systemClock } from "../../src/os/system-clock.ts";
import type { Incident } from "../../src/registry/incidents.ts";
import { reaperBench, seenAs, start } from "./bench.ts";
import { craftRun, deadOwner, workerRow } from "./crafted-run.ts";
import { isAlive, machine } from "./hosts.ts";

const LIMITS = { graceMs: 0, deadlineMs: 5_000 };

function settleAsWatchdog(
	dataDir: string,
	runId: RunId,
	fields: Partial<Parameters<typeof settleRun>[0]> = {},
): Promise<RunSettlement> {
	return settleRun({
		dataDir,
		runId,
		owner: deadOwner(),
		host: machine,
		killer: new ProcessKiller(machine, systemClock),
		clock: systemClock,
		limits: LIMITS,
		incidents: () => [],
		...fields,
	});
}

test("a watchdog ends its dead host's workers and whatever carries their marker, and the next start reports it", async () => {
	const bench = reaperBench();
	const worker = await start("ignores-sigterm.sh");
	const crafted = await craftRun(bench.dataDir, deadOwner(), {}, (runId) => [
		workerRow(runId, { identity: worker.identity, groupId: worker.groupId }),
	]);
	const { runId } = crafted.name;
	const stray = await start("sleeps.sh", crafted.marker, `${runId}-9`);
	const observed: SettledRun[] = [];
	const settled: Incident = {
		type: "protection.run_settled",
		wallMs: 5,
		protection: "watchdog",
		ofRun: runId,
		killed: 3,
		durationMs: 9,
	};
	const outcome = await settleAsWatchdog(bench.dataDir, runId, {
		incidents: (end) => {
			observed.push(end);
			return [settled];
		},
	});
	expect(outcome).toMatchObject({ kind: "settled", spared: [] });
	expect(observed).toMatchObject([{ spared: [] }]);
	expect(
		observed[0]?.reaped.map(({ foundBy, incarnation }) => [
			foundBy,
			incarnation,
		]),
	).toEqual([
		["ledger", `${runId}-1`],
		["group", `${runId}-1`],
		["marker", `${runId}-9`],
	]);
	expect([worker, stray].map(({ identity }) => isAlive(identity.pid))).toEqual([
		false,
		false,
	]);
	expect(existsSync(crafted.path)).toBe(true);
	await reap(bench);
	expect(bench.events.events).toContainEqual(settled);
	expect(existsSync(crafted.path)).toBe(false);
	expect(await settleAsWatchdog(bench.dataDir, runId)).toEqual({
		kind: "over",
	});
});

test("a host that lives is left alone, with everything of it", async () => {
	const bench = reaperBench();
	const owner = await start("sleeps.sh");
	const crafted = await craftRun(bench.dataDir, owner.identity);
	const worker = await start("sleeps.sh", crafted.marker);
	expect(
		await settleAsWatchdog(bench.dataDir, crafted.name.runId, {
			owner: owner.identity,
		}),
	).toEqual({ kind: "spared", reason: "owner_alive" });
	expect(isAlive(worker.identity.pid)).toBe(true);
});

test("what died with its boot is not searched for, and what cannot be ended keeps the run open", async () => {
	const bench = reaperBench();
	const owner = deadOwner({ bootId: "another" });
	const { name } = await craftRun(bench.dataDir, owner);
	expect(
		await settleAsWatchdog(bench.dataDir, name.runId, { owner }),
	).toMatchObject({ kind: "settled", reaped: [] });

	const held = await craftRun(bench.dataDir);
	const stray = await start("sleeps.sh", held.marker);
	const refusing = seenAs({ signal: () => "refused" });
	expect(
		await settleAsWatchdog(bench.dataDir, held.name.runId, {
			killer: new ProcessKiller(refusing, systemClock),
		}),
	).toMatchObject({
		kind: "unfinished",
		spared: [{ pid: stray.identity.pid, reason: "signal_refused" }],
	});
});

test("what was ended before the claim is counted with the rest", async () => {
	const bench = reaperBench();
	const worker = await start("sleeps.sh");
	const crafted = await craftRun(bench.dataDir, deadOwner(), {}, (runId) => [
		workerRow(runId, { identity: worker.identity, groupId: worker.groupId }),
	]);
	const { runId } = crafted.name;
	const target: Orphan = {
		ofRun: runId,
		pid: worker.identity.pid,
		identity: worker.identity,
		groupId: worker.groupId,
		incarnation: `${runId}-1`,
		fingerprint: undefined,
		foundBy: "ledger",
		ownGroup: true,
	};
	const ended = await new ProcessKiller(machine, systemClock).end(
		() => [target],
		LIMITS,
	);
	const outcome = await settleAsWatchdog(bench.dataDir, runId, { ended });
	expect(outcome).toMatchObject({
		kind: "settled",
		reaped: [{ pid: worker.identity.pid, incarnation: `${runId}-1` }],
	});
});
