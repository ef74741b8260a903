import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	eventually,
	Host,
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
	await dead.kill();
	expect(pids.map(isAlive)).toEqual([true, true]);

	const next = await new Host({ dataDir }).up();
	expect(pids.map(isAlive)).toEqual([false, false]);
	expect(next.report.deadRuns).toEqual([runId]);
	expect(next.report.reaped).toEqual(
		expect.arrayContaining([
			{ ofRun: runId, pid: pids[0], how: "ended_on_term", foundBy: "ledger" },
			{ ofRun: runId, pid: pids[1], how: "killed", foundBy: "ledger" },
		]),
	);
	expect(next.runs.find((run) => run.runId === runId)).toMatchObject({
		state: "terminated",
		clean: false,
		endedBy: `reaper:${next.runId}`,
	});
	expect(existsSync(runDirectory)).toBe(false);
	expect(
		readdirSync(join(dataDir, "runs")).filter((file) => file.startsWith(runId)),
	).toEqual([]);
});

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

test("of two hosts one is killed: a third cleans up after it and leaves the other", async () => {
	const dataDir = temporaryDirectory();
	const killed = new Host({ dataDir, workers: ["sleeps.sh"] });
	const lives = new Host({ dataDir, workers: ["sleeps.sh"] });
	const [dead, alive] = [await killed.up(), await lives.up()];
	await killed.kill();
	const third = await new Host({ dataDir }).up();
	expect(third.report.deadRuns).toEqual([dead.runId]);
	expect(dead.pids.map(isAlive)).toEqual([false]);
	expect(alive.pids.map(isAlive)).toEqual([true]);
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
		workers: ["sleeps.sh"],
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
	const escaped = machine
		.marked()
		.filter(({ marker }) => marker.runId === dead.runId)
		.map(({ identity }) => identity.pid);
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
	await eventually("the leader's end", () => !isAlive(leader));
	const [child] = machine.members(leader);
	killed.watch([child?.identity.pid as number]);
	await killed.kill();
	const next = await new Host({ dataDir }).up();
	expect(next.report).toMatchObject({
		reaped: [],
		sparedProcesses: [{ pid: child?.identity.pid, reason: "identity_unknown" }],
	});
	expect(machine.members(leader).length).toBe(1);
});
