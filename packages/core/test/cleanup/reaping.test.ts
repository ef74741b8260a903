import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readHistory } from "../../src/inspect/history.ts";
import { directoriesOf } from "../../src/os/shared-memory.ts";
import { readRunFile } from "../../src/registry/history.ts";
import { RunLock, takeLock } from "../../src/registry/run-lock.ts";
import { runNameOf, runPath } from "../../src/registry/run-name.ts";
import { sqlite } from "./bench.ts";
import {
	eventually,
	Host,
	type HostReport,
	isAlive,
	machine,
	temporaryDirectory,
} from "./hosts.ts";

test("the next start of any program ends the workers of a host that was killed, and records it", async () => {
	const dataDir = temporaryDirectory();
	const dead = new Host({
		dataDir,
		workers: ["sleeps.sh", "ignores-sigterm.sh"],
	});
	const { runId, pids, runDirectory } = await dead.up();
	const sharedMemory = directoriesOf(runDirectory, runId).slice(1);
	await dead.kill();
	expect(pids.map(isAlive)).toEqual([true, true]);

	const next = await new Host({ dataDir }).up();
	expect(pids.map(isAlive)).toEqual([false, false]);
	expect(next.report.deadRuns).toEqual([runId]);
	const left = {
		ofRun: runId,
		program: "host-program.ts",
		foundBy: "ledger",
	};
	expect(next.report.reaped).toEqual(
		expect.arrayContaining([
			{ ...left, pid: pids[0], how: "ended_on_term" },
			{ ...left, pid: pids[1], how: "killed" },
		]),
	);
	const runs = await Array.fromAsync(readHistory({ dataDir }));
	expect(runs.find((run) => run.runId === runId)).toMatchObject({
		state: "terminated",
		clean: false,
		endedBy: `reaper:${next.runId}`,
	});
	expect([runDirectory, ...sharedMemory].filter(existsSync)).toEqual([]);
	expect(
		readdirSync(join(dataDir, "runs")).filter((file) => file.startsWith(runId)),
	).toEqual([]);
});

test.runIf(process.platform === "linux")(
	"what left its worker is found by its marker and ended, also when its first thread has ended before",
	async () => {
		const dataDir = temporaryDirectory();
		const dead = new Host({ dataDir, workers: ["leaves-its-first-thread.py"] });
		const { runId } = await dead.up();
		const marked = machine
			.marked()
			.filter(({ marker }) => marker.runId === runId);
		const pids = marked.map(({ identity }) => identity.pid);
		onTestFinished(() => {
			for (const { identity } of marked) machine.signal(identity, "SIGKILL");
		});
		expect(pids.length).toBe(1);
		expect(pids.map((pid) => machine.facts(pid)?.condition)).toEqual(["alive"]);
		await dead.kill();
		const { report } = await new Host({ dataDir }).up();
		expect(report.reaped).toMatchObject([{ pid: pids[0], foundBy: "marker" }]);
		expect(pids.map(isAlive)).toEqual([false]);
	},
);

test("a second host never touches the workers of a living one", async () => {
	const dataDir = temporaryDirectory();
	const first = await new Host({ dataDir, workers: ["sleeps.sh"] }).up();
	const second = await new Host({ dataDir, workers: ["sleeps.sh"] }).up();
	expect(second.report).toMatchObject({
		deadRuns: [],
		found: 0,
		sparedRuns: [{ runId: first.runId, reason: "owner_alive" }],
	});
	expect(first.pids.map(isAlive)).toEqual([true]);
});

test("two starters that race for one dead run: one claims it", async () => {
	const dataDir = temporaryDirectory();
	const killed = new Host({ dataDir, workers: ["ignores-sigterm.sh"] });
	const dead = await killed.up();
	await killed.kill();
	const starters = await Promise.all(
		[1, 2, 3].map(() => new Host({ dataDir }).up()),
	);
	const claims = starters.filter(({ report }) =>
		report.deadRuns.includes(dead.runId),
	);
	expect(claims.length).toBe(1);
	expect(isAlive(dead.pids[0] as number)).toBe(false);
});

test("a host that was killed between spawn and record leaves a reservation: its process is found by marker", async () => {
	const dataDir = temporaryDirectory();
	const killed = new Host({
		dataDir,
		workers: ["says-nothing.sh"],
		diesBeforeRecording: true,
	});
	const [pid] = (await killed.line()) as number[];
	killed.watch([pid as number]);
	await eventually("the host's death", () => killed.child.signalCode !== null);
	const next = await new Host({ dataDir }).up();
	expect(next.report.reaped).toMatchObject([{ pid, foundBy: "marker" }]);
	expect(isAlive(pid as number)).toBe(false);
});

test("children in the group of a dead worker go with it, also when they have no marker", async () => {
	const dataDir = temporaryDirectory();
	const killed = new Host({
		dataDir,
		workers: ["forks-a-child.sh", "forks-on-sigterm.sh"],
	});
	const dead = await killed.up();
	await killed.kill();
	const next = await new Host({ dataDir }).up();
	for (const pid of dead.pids) expect(machine.members(pid)).toEqual([]);
	expect(next.report.sparedProcesses).toEqual([]);
});

test("a group that forks without end is ended as one", async () => {
	const dataDir = temporaryDirectory();
	const killed = new Host({ dataDir, workers: ["forks-without-end.sh"] });
	const dead = await killed.up();
	await killed.kill();
	await new Host({ dataDir }).up();
	for (const pid of dead.pids) expect(machine.members(pid)).toEqual([]);
});

test("a descendant that left the group is found by its marker", async () => {
	const dataDir = temporaryDirectory();
	const killed = new Host({ dataDir, workers: ["leaves-its-group.cjs"] });
	const dead = await killed.up();
	const marked = (): readonly number[] =>
		machine
			.marked()
			.filter(({ marker }) => marker.runId === dead.runId)
			.map(({ identity }) => identity.pid);
	// Its worker, which made it and has no more to do, ends at some time.
	await eventually("the descendant, alone", () => {
		const pids = marked();
		return pids.length === 1 && pids[0] !== dead.pids[0];
	});
	const escaped = marked();
	killed.watch(escaped);
	await killed.kill();
	const next = await new Host({ dataDir }).up();
	expect(next.report.reaped).toMatchObject([
		{ pid: escaped[0], foundBy: "marker" },
	]);
	expect(escaped.map(isAlive)).toEqual([false]);
});

test("a child without a marker in a group whose leader is gone is reported and left alone", async () => {
	const dataDir = temporaryDirectory();
	const killed = new Host({
		dataDir,
		workers: ["leaves-an-ignorant-child.sh"],
	});
	const dead = await killed.up();
	const leader = dead.pids[0] as number;
	const marked = (): boolean =>
		machine.marked().some(({ marker }) => marker.runId === dead.runId);
	await eventually("the child's empty environment", () => !marked());
	const [child] = machine.members(leader);
	killed.watch([child?.identity.pid as number]);
	await killed.kill();
	// As long as nobody has noticed its death, the leader still holds the group's number.
	await eventually(
		"the leader's end",
		() => machine.facts(leader) === undefined,
	);
	const next = await new Host({ dataDir }).up();
	expect(next.report).toMatchObject({
		reaped: [],
		sparedProcesses: [{ pid: child?.identity.pid, reason: "identity_unknown" }],
	});
	expect(machine.members(leader).length).toBe(1);
});

test("a reaper that is killed in the middle leaves the rest to the next start", async () => {
	const dataDir = temporaryDirectory();
	const killed = new Host({ dataDir, workers: ["ignores-sigterm.sh"] });
	const dead = await killed.up();
	await killed.kill();
	const path = runPath(
		join(dataDir, "runs"),
		runNameOf(dead.runId, dead.self),
		"db",
	);
	const claimedBy = (): string | undefined => {
		const content = readRunFile(sqlite, path, runNameOf(dead.runId, dead.self));
		return content.kind === "readable" ? content.run.claimedBy : undefined;
	};
	// It waits out the grace of a worker that does not leave.
	const reaper = new Host({ dataDir });
	await eventually("the claim", () => claimedBy() !== undefined);
	await reaper.kill();
	expect(isAlive(dead.pids[0] as number)).toBe(true);

	const next = await new Host({ dataDir }).up();
	expect(next.report.deadRuns).toContain(dead.runId);
	expect(isAlive(dead.pids[0] as number)).toBe(false);
});

test("a host in another pid namespace is never judged from here, living or dead", async ({
	skip,
}) => {
	const { status } = spawnSync("unshare", ["--pid", "--fork", "true"]);
	if (status !== 0) skip("pid namespaces may not be made here");
	const dataDir = temporaryDirectory();
	const inside = new Host(
		{ dataDir, workers: ["sleeps.sh"] },
		{ inside: ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"] },
	);
	const { runId } = await inside.up();
	const first = await new Host({ dataDir }).up();
	expect(first.report).toMatchObject({
		found: 0,
		sparedRuns: [{ runId, reason: "owner_alive" }],
	});
	await inside.kill();
	const spared = (host: HostReport): string | undefined =>
		host.report.sparedRuns.find((run) => run.runId === runId)?.reason;
	// The kernel ends the namespace a moment after its maker.
	await eventually("the owner's death", () => {
		const lock = takeLock(sqlite, runPathIn(dataDir, runId));
		if (!(lock instanceof RunLock)) return false;
		lock.release("kept");
		return true;
	});
	const second = await new Host({ dataDir }).up();
	expect(spared(second)).toBe("other_pid_namespace");
});

/** The lock of a run whose owner has another identity in here. */
function runPathIn(dataDir: string, runId: string): string {
	const runs = join(dataDir, "runs");
	const file = readdirSync(runs).find(
		(name) => name.startsWith(runId) && name.endsWith(".lock"),
	);
	return join(runs, file ?? "missing");
}
