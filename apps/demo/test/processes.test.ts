import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	formatMarker,
	generateRunId,
	MARKER_VARIABLE,
	type Marker,
	type RunId,
} from "@snakepit/core/infrastructure";
import { expect, onTestFinished, test } from "vitest";
import {
	leftoversOf,
	parsePsTable,
	type SeenProcess,
	seeProcesses,
	trailOfHost,
} from "../src/processes.ts";

const run = "k3x9a2p" as RunId;
const other = "k3x9a2q" as RunId;

function marker(runId: RunId, hostPid: number): Marker {
	return {
		runId,
		directoryKey: "d",
		bootId: "b",
		pidNamespace: "1",
		hostPid,
		hostStartTime: "7",
	};
}

function seen(given: Partial<SeenProcess> & { pid: number }): SeenProcess {
	const { pid: group } = given;
	return { parent: 1, group, marker: undefined, command: "python", ...given };
}

test("a leftover is in a worker's group or has the run's marker", () => {
	const trail = { runs: new Set([run]), groups: new Set([41]) };
	const processes = [
		seen({ pid: 41 }),
		seen({ pid: 50, group: 41 }),
		seen({ pid: 60, marker: marker(run, 9) }),
		seen({ pid: 70, marker: marker(other, 9) }),
		seen({ pid: 80 }),
	];
	expect(
		leftoversOf(trail, processes).map(({ pid, foundBy }) => [pid, foundBy]),
	).toEqual([
		[41, "group"],
		[50, "group"],
		[60, "marker"],
	]);
});

test("the trail of a host is its children's groups and markers, without its own group", () => {
	const trail = trailOfHost(9, [
		seen({ pid: 9, group: 5 }),
		seen({ pid: 41, parent: 9 }),
		seen({ pid: 42, parent: 41, group: 42, marker: marker(run, 9) }),
		seen({ pid: 43, parent: 9, group: 5 }),
		seen({ pid: 70, marker: marker(other, 8) }),
	]);
	expect([...trail.groups]).toEqual([41, 42]);
	expect([...trail.runs]).toEqual([run]);
});

test("a real process is found by its group and its marker while it is alive, and not after", async () => {
	const chance = { fraction: Math.random, token: () => "" };
	const own = marker(generateRunId(Date.now(), chance), process.pid);
	const child = spawn("sleep", ["60"], {
		detached: true,
		stdio: "ignore",
		env: { ...process.env, [MARKER_VARIABLE]: formatMarker(own) },
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	await once(child, "spawn");
	const pid = Number(child.pid);
	const byGroup = { runs: new Set<string>(), groups: new Set([pid]) };
	const byMarker = { runs: new Set([own.runId]), groups: new Set<number>() };
	for (const trail of [byGroup, byMarker])
		expect(leftoversOf(trail, seeProcesses())).toMatchObject([{ pid }]);
	expect(trailOfHost(process.pid, seeProcesses()).groups).toContain(pid);
	child.kill("SIGKILL");
	await once(child, "exit");
	for (const trail of [byGroup, byMarker])
		expect(leftoversOf(trail, seeProcesses())).toEqual([]);
});

test("a table of ps is read: the living, their groups, and the marker behind the command", () => {
	const table = [
		"    1     0     1 Ss   /sbin/launchd",
		"41000 40999 41000 S+   python -m snakepit_bridge worker HOME=/Users/a SNAKEPIT_RUN=k3x9a2p:0a1b2c3d4e5f:boot:1:40999:Mon%20Nov%2021",
		"41001 40999 41001 Z    (python)",
		"",
	].join("\n");
	expect(parsePsTable(table)).toMatchObject([
		{ pid: 1, parent: 0, group: 1, marker: undefined },
		{
			pid: 41_000,
			parent: 40_999,
			group: 41_000,
			marker: { runId: "k3x9a2p", hostPid: 40_999 },
		},
	]);
});
