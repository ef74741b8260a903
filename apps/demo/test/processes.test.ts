import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	formatMarker,
	MARKER_VARIABLE,
	type RunId,
} from "@snakepit/core/infrastructure";
import { expect, onTestFinished, test } from "vitest";
import { leftoversOf, listProcesses, traceOf } from "../src/processes.ts";

test("a process is found by its group and its marker while it is alive, and not after", async () => {
	const runId = "k3x9a2p" as RunId;
	const marker = formatMarker({
		...{ runId, directoryKey: "d", bootId: "b", pidNamespace: "1" },
		...{ hostPid: process.pid, hostStartTime: "7" },
	});
	const child = spawn("sleep", ["60"], {
		detached: true,
		stdio: "ignore",
		env: { ...process.env, [MARKER_VARIABLE]: marker },
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	await once(child, "spawn");
	const pid = Number(child.pid);
	const byGroup = { runs: new Set<string>(), groups: new Set([pid]) };
	const byMarker = { runs: new Set([runId]), groups: new Set<number>() };
	for (const trace of [byGroup, byMarker])
		expect(leftoversOf(trace, listProcesses())).toEqual([pid]);
	const trace = traceOf(process.pid, listProcesses());
	expect(trace.groups).toContain(pid);
	expect(trace.runs).toContain(runId);
	child.kill("SIGKILL");
	await once(child, "exit");
	for (const trace of [byGroup, byMarker])
		expect(leftoversOf(trace, listProcesses())).toEqual([]);
});
