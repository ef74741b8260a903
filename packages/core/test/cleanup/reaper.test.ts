import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { reap } from "../../src/cleanup/reaper.ts";
import type { FoundOrphan } from "../../src/contract/cleanup-strategy.ts";
import type { RunId } from "../../src/contract/identity.ts";
import { UNKNOWN_END } from "../../src/contract/process-registry.ts";
import { readRunFile } from "../../src/registry/history.ts";
import { type RunLock, takeLock } from "../../src/registry/run-lock.ts";
import { ownerKey, runNameOf, runPath } from "../../src/registry/run-name.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { CLAIMANT, reaperBench, sqlite, start } from "./bench.ts";
import {
	type CraftedRun,
	craftRun,
	deadOwner,
	workerRow,
} from "./crafted-run.ts";
import { isAlive, machine } from "./hosts.ts";

type Bench = ReturnType<typeof reaperBench>;

function ended(bench: Bench, { name }: CraftedRun): unknown {
	const path = runPath(bench.directory.history, name, "db");
	return readRunFile(sqlite, path, name);
}

function eventsOf(bench: Bench, type: string): readonly object[] {
	return bench.events.events.filter((event) => event.type === type);
}

test("nothing to clean up is reported too, with begin and end", async () => {
	const bench = reaperBench();
	expect(await reap(bench)).toMatchObject({ deadRuns: [], found: 0 });
	expect(bench.events.events.map(({ type }) => type)).toEqual([
		"cleanup.started",
		"cleanup.finished",
	]);
});

test("a dead run's workers are ended, its rows, its end and its directory settled", async () => {
	const bench = reaperBench();
	const directory = mkdtempSync(join(tmpdir(), "snakepit-zzreap1-"));
	writeFileSync(join(directory, "socket"), "");
	const worker = await start("ignores-sigterm.sh");
	const crafted = await craftRun(
		bench.dataDir,
		deadOwner(),
		{ directory, programEnd: { ...UNKNOWN_END, how: "exited", code: 3 } },
		(runId) => [
			workerRow(runId, { identity: worker.identity, groupId: worker.groupId }),
			workerRow(runId, { incarnation: `${runId}-2`, status: "reserved" }),
			workerRow(runId, {
				incarnation: `${runId}-3`,
				status: "ended",
				end: {
					exit: { kind: "code", code: 3 },
					reason: "exited",
					killer: "none",
				},
			}),
		],
	);
	const report = await reap(bench);
	const { runId } = crafted.name;
	const { pid } = worker.identity;
	expect(report).toMatchObject({ deadRuns: [runId], found: 2 });
	expect(report.reaped).toMatchObject([
		{ ofRun: runId, pid, how: "killed", foundBy: "ledger" },
		{ ofRun: runId, how: "killed", foundBy: "group" },
	]);
	expect(ended(bench, crafted)).toMatchObject({
		run: {
			state: "terminated",
			clean: false,
			endedBy: `reaper:${CLAIMANT}`,
			claimedBy: undefined,
			killed: 2,
		},
		workers: [
			{ status: "ended", end: { reason: "reaped", killer: "reaper" } },
			{ status: "ended", end: { reason: "vanished", killer: "unknown" } },
			{
				status: "ended",
				end: { exit: { kind: "code", code: 3 }, reason: "exited" },
			},
		],
	});
	expect(readdirSync(bench.directory.runs)).toEqual([]);
	expect(eventsOf(bench, "orphan.reaped").length).toBe(2);
	expect(eventsOf(bench, "run.found_dead")).toMatchObject([
		{ ofRun: runId, end: { how: "exited", code: 3 } },
	]);
	// The name of the directory is another run's: it is not Snakepit's to remove.
	expect(existsSync(directory)).toBe(true);
	rmSync(directory, { recursive: true });
});

test("the directory that the run had made for itself goes with it, and what is in it", async () => {
	const bench = reaperBench();
	const base = mkdtempSync(join(tmpdir(), "snakepit-test-"));
	onTestFinished(() => rmSync(base, { recursive: true }));
	const crafted = await craftRun(bench.dataDir);
	const own = join(base, `snakepit-${crafted.name.runId}-abcdef`);
	mkdirSync(join(own, "incarnation"), { recursive: true, mode: 0o700 });
	rmSync(crafted.path);
	rmSync(crafted.lockPath);
	const { RunFile } = await import("../../src/registry/run-file.ts");
	const file = RunFile.create(sqlite, crafted.path, {
		...crafted.run,
		directory: own,
	});
	file.close("goes_on");
	await reap(bench);
	expect([own, base].map(existsSync)).toEqual([false, true]);
});

test("processes of another boot, machine or pid namespace, and given-away pids: nothing is signalled", async () => {
	const bench = reaperBench();
	const strangers = await Promise.all(
		[1, 2, 3, 4].map(() => start("sleeps.sh")),
	);
	const owners = [
		deadOwner({ bootId: "another" }),
		deadOwner({ machineId: "another" }),
		deadOwner({ pidNamespace: "1" }),
		deadOwner(),
	];
	for (const [index, owner] of owners.entries()) {
		const identity = strangers[index]?.identity ?? machine.self;
		await craftRun(bench.dataDir, owner, {}, (runId) => [
			workerRow(runId, {
				groupId: identity.pid,
				identity: {
					...identity,
					bootId: owner.bootId,
					machineId: owner.machineId,
					pidNamespace: owner.pidNamespace,
					// The last one's number was given to another process.
					startTime: index === 3 ? "1" : identity.startTime,
				},
			}),
		]);
	}
	const report = await reap(bench);
	expect(strangers.map(({ identity }) => isAlive(identity.pid))).toEqual([
		true,
		true,
		true,
		true,
	]);
	expect(report.reaped).toEqual([]);
	expect(report.sparedRuns.map(({ reason }) => reason).sort()).toEqual([
		"other_machine",
		"other_pid_namespace",
	]);
	expect(report.sparedProcesses).toMatchObject([
		{ pid: strangers[3]?.identity.pid, reason: "identity_unknown" },
	]);
	expect(eventsOf(bench, "run.spared").length).toBe(2);
});

test("a marker with the same run id of another data directory is not touched, whoever its host was", async () => {
	const bench = reaperBench();
	const crafted = await craftRun(bench.dataDir);
	const [runId, key, ...host] = crafted.marker.split(":");
	expect(key).toBe(bench.directory.key);
	const [stranger, elsewhere] = await Promise.all(
		[
			[runId, "anotherkey", ...host.slice(0, -1), "99"],
			[runId, "anotherkey", ...host],
		].map((fields) => start("sleeps.sh", fields.join(":"))),
	);
	expect((await reap(bench)).found).toBe(0);
	expect(
		[stranger, elsewhere].map((each) => isAlive(each?.identity.pid ?? 0)),
	).toEqual([true, true]);
});

test("a strategy is asked once about each orphan; what it spares stays, with its group, and is asked about at the next start", async () => {
	const asked: FoundOrphan[] = [];
	const bench = reaperBench({
		strategy: (orphan) => {
			asked.push(orphan);
			return orphan.foundBy === "group" ? "spare" : "reap";
		},
	});
	const worker = await start("forks-a-child.sh");
	const { pid } = worker.identity;
	const crafted = await craftRun(bench.dataDir, deadOwner(), {}, (runId) => [
		workerRow(runId, { identity: worker.identity, groupId: pid }),
	]);
	const report = await reap(bench);
	const child = machine.members(pid)[0]?.identity.pid ?? 0;
	expect(report.reaped).toMatchObject([{ pid }]);
	expect(report.sparedProcesses).toMatchObject([
		{ pid: child, reason: "strategy" },
	]);
	expect(asked).toEqual([
		{
			ofRun: crafted.name.runId,
			pid,
			foundBy: "ledger",
			incarnation: `${crafted.name.runId}-1`,
			fingerprint: "sleep#0123",
		},
		expect.objectContaining({ pid: child, foundBy: "group" }),
	]);
	expect(existsSync(crafted.path)).toBe(true);
	expect(eventsOf(bench, "orphan.spared").length).toBe(1);
});

test("a strategy that throws, now or later, is reported, and the orphan is reaped", async () => {
	const error = new Error("no idea");
	const strategies = [
		() => {
			throw error;
		},
		() => Promise.reject(error),
	];
	for (const strategy of strategies) {
		const bench = reaperBench({ strategy });
		const crafted = await craftRun(bench.dataDir);
		const orphan = await start("sleeps.sh", crafted.marker);
		expect((await reap(bench)).reaped).toMatchObject([
			{ pid: orphan.identity.pid },
		]);
		expect(eventsOf(bench, "listener.threw")).toMatchObject([
			{ of: "cleanup", error },
		]);
	}
});

test("a strategy that never answers holds no start: it is reported once, not asked again, and what it has not decided is spared", async () => {
	const clock = new VirtualClock();
	let asked = 0;
	const bench = reaperBench({
		clock,
		strategy: () => {
			asked++;
			return new Promise(() => {});
		},
	});
	const crafted = await craftRun(bench.dataDir);
	const orphans = [
		await start("sleeps.sh", crafted.marker),
		await start("sleeps.sh", crafted.marker),
	];
	const reaping = reap(bench);
	await vi.waitFor(() => expect(asked).toBe(1), 30_000);
	await clock.advance(10_000);
	const report = await reaping;
	expect(report).toMatchObject({ reaped: [], deadRuns: [crafted.name.runId] });
	expect(report.sparedProcesses.map(({ reason }) => reason)).toEqual([
		"strategy",
		"strategy",
	]);
	expect(asked).toBe(1);
	expect(orphans.every(({ identity }) => isAlive(identity.pid))).toBe(true);
	expect(eventsOf(bench, "listener.threw")).toMatchObject([
		{
			of: "cleanup",
			error: { message: expect.stringMatching(/did not answer within 10 s/) },
		},
	]);
});

test("a run whose file is damaged is cleaned up by marker alone, and its file set aside", async () => {
	const bench = reaperBench();
	const crafted = await craftRun(bench.dataDir);
	writeFileSync(crafted.path, "");
	const orphan = await start("sleeps.sh", crafted.marker);
	const report = await reap(bench);
	expect(report.reaped).toMatchObject([
		{ pid: orphan.identity.pid, foundBy: "marker" },
	]);
	expect(report.setAside).toMatchObject([{ reason: expect.any(String) }]);
	expect(existsSync(report.setAside[0]?.path ?? "")).toBe(true);
	expect(eventsOf(bench, "registry.set_aside").length).toBe(1);
});

test("runs of this very process are not even looked at", async () => {
	const bench = reaperBench();
	const crafted = await craftRun(bench.dataDir, machine.self);
	expect(await reap(bench)).toMatchObject({ deadRuns: [], sparedRuns: [] });
	expect(existsSync(crafted.path)).toBe(true);
});

test("an old lock without a run is removed, unless it is held, young, or this process's own", async () => {
	const bench = reaperBench();
	const lockOf = (runId: string, owner = deadOwner(), age = 3600): string => {
		const name = runNameOf(runId as RunId, owner);
		const path = runPath(bench.directory.runs, name, "lock");
		writeFileSync(path, "");
		const then = Date.now() / 1000 - age;
		utimesSync(path, then, then);
		return path;
	};
	const stray = lockOf("stray00");
	const young = lockOf("young00", deadOwner(), 1);
	const held = lockOf("held000");
	const own = lockOf("own0000", machine.self);
	const lock = takeLock(sqlite, held) as RunLock;
	await craftRun(bench.dataDir, deadOwner({ machineId: "another" }));
	await reap(bench);
	expect([stray, young, held, own].map(existsSync)).toEqual([
		false,
		true,
		true,
		true,
	]);
	lock.release("removed");
});

test("owners are distinguished by every part of their identity", () => {
	const owner = deadOwner();
	const others = [
		deadOwner({ machineId: "x" }),
		deadOwner({ bootId: "x" }),
		deadOwner({ pidNamespace: "x" }),
		deadOwner({ pid: 5 }),
		deadOwner({ startTime: "x" }),
	];
	const keys = [owner, ...others].map(ownerKey);
	expect(new Set(keys).size).toBe(6);
	expect(ownerKey(deadOwner())).toBe(keys[0]);
});
