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
import { EventTrail, leftoversOf, trailOfHost } from "../src/leftovers.ts";
import { type SeenProcess, seeProcesses } from "../src/process-table.ts";
import { event, spawned } from "./events.ts";

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
	return {
		parent: 1,
		group: given.pid,
		marker: undefined,
		command: "python",
		...given,
	};
}

test("a leftover is in a worker's group or bears the run's marker", () => {
	const trail = { runs: new Set([run]), groups: new Set([41]) };
	const processes = [
		seen({ pid: 41 }),
		seen({ pid: 50, group: 41 }),
		seen({ pid: 60, marker: marker(run, 9) }),
		seen({ pid: 70, marker: marker(other, 9) }),
		seen({ pid: 80 }),
	];
	expect(
		leftoversOf(trail, processes).map(({ pid, knownBy }) => [pid, knownBy]),
	).toEqual([
		[41, "group"],
		[50, "group"],
		[60, "marker"],
	]);
});

test("a program's own trail are the run and the groups that its pool told of", () => {
	const trail = new EventTrail();
	trail.hear(event({ type: "run.started", runId: run, dataDir: "/x" }));
	trail.hear(spawned("digits-0", "r-1", 41));
	trail.hear(spawned("digits-0", "r-2", 77));
	expect([...trail.runs]).toEqual([run]);
	expect([...trail.groups]).toEqual([41, 77]);
});

test("the trail of a host are its children's groups and marks, not its own group", () => {
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

test("a real process is found by its group and by its marker while it lives, and not after", async () => {
	const own = marker(
		generateRunId(Date.now(), {
			fraction: Math.random,
			token: () => "",
		}),
		process.pid,
	);
	const child = spawn("sleep", ["60"], {
		detached: true,
		stdio: "ignore",
		env: { ...process.env, [MARKER_VARIABLE]: formatMarker(own) },
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	await once(child, "spawn");
	const byGroup = {
		runs: new Set<RunId>(),
		groups: new Set([Number(child.pid)]),
	};
	const byMarker = { runs: new Set([own.runId]), groups: new Set<number>() };
	for (const trail of [byGroup, byMarker])
		expect(leftoversOf(trail, seeProcesses())).toMatchObject([
			{ pid: child.pid },
		]);
	expect(trailOfHost(process.pid, seeProcesses()).groups).toContain(child.pid);
	child.kill("SIGKILL");
	await once(child, "exit");
	for (const trail of [byGroup, byMarker])
		expect(leftoversOf(trail, seeProcesses())).toEqual([]);
});
