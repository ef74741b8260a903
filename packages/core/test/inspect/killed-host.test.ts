import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { endGroup, endHost } from "../../../../scripts/end-host.ts";
import type { LaunchSpec } from "../../src/contract/launch.ts";
import { type RunHistory, readHistory } from "../../src/inspect/history.ts";
import { openRun } from "../../src/run/open-run.ts";
import { craftRun, deadOwner, workerRow } from "../cleanup/crafted-run.ts";
import {
	eventually,
	Host,
	isAlive,
	machine,
	temporaryDirectory,
} from "../cleanup/hosts.ts";

async function newest(dataDir: string): Promise<RunHistory | undefined> {
	for await (const run of readHistory({ dataDir })) return run;
	return undefined;
}

const HOST = join(import.meta.dirname, "../run/any-program-host.ts");
const WAITS: LaunchSpec = {
	executable: "/bin/sh",
	args: ["-c", "echo up; cat"],
};

/** A host with a pool of programs, and their pids. */
async function hostOf(
	dataDir: string,
	specs: readonly LaunchSpec[],
): Promise<{ readonly host: ChildProcess; readonly pids: readonly number[] }> {
	// What a protection recorded is another test's.
	const args = [HOST, dataDir, JSON.stringify(specs), "off"];
	const host = spawn(process.execPath, args, {
		stdio: ["ignore", "pipe", "inherit"],
		env: { ...process.env, TMPDIR: dataDir },
	});
	const self = machine.observe(host.pid ?? 0);
	onTestFinished(() => endHost(machine, host, self));
	const lines = createInterface({ input: host.stdout });
	const { value } = await lines[Symbol.asyncIterator]().next();
	const pids: readonly number[] = JSON.parse(value).pids;
	for (const pid of pids) {
		const worker = machine.observe(pid);
		if (typeof worker !== "string")
			onTestFinished(() => endGroup(machine, worker));
	}
	return { host, pids };
}

test.runIf(process.platform === "linux")(
	"a killed host is dead at once, its workers were ended by their lifelines, and the next start records the same",
	async () => {
		const dataDir = temporaryDirectory();
		const { host, pids } = await hostOf(dataDir, [
			WAITS,
			{ ...WAITS, lifeline: "off", args: ["-c", "echo up; sleep 1000"] },
		]);
		const [tied = 0, off = 0] = pids;
		const living = await newest(dataDir);
		expect(living).toMatchObject({
			state: "running",
			program: {
				name: "any-program-host.ts",
				cwd: process.cwd(),
				argv: [process.execPath, HOST, dataDir, expect.any(String), "off"],
				node: process.versions.node,
				snakepit: expect.stringMatching(/^\d+\.\d+\.\d+/),
			},
			workers: [
				{ status: "active", lifeline: "listening" },
				{ status: "active", lifeline: "none" },
			],
		});
		host.kill("SIGKILL");
		await once(host, "exit");
		await eventually("the end of the first", () => !isAlive(tied));
		const ended = {
			status: "ended",
			end: { exit: undefined, reason: "host_died", killer: "lifeline" },
		};
		expect(await newest(dataDir)).toMatchObject({
			state: "host_died",
			endedAt: undefined,
			workers: [ended, { status: "active", end: undefined }],
		});
		expect(isAlive(off)).toBe(true);

		const next = await openRun({ dataDir });
		await next.close();
		const runs = await Array.fromAsync(readHistory({ dataDir }));
		expect(runs.find(({ runId }) => runId === living?.runId)).toMatchObject({
			state: "terminated",
			clean: false,
			workers: [ended, { end: { reason: "reaped", killer: "reaper" } }],
		});
	},
);

test("a worker that a protection killed is the protection's, also before a start has read what it wrote", async () => {
	const dataDir = temporaryDirectory();
	const host = new Host({ dataDir, workers: ["sleeps.sh"] });
	const { runId, pids, runDirectory } = await host.up();
	const [pid = 0] = pids;
	const worker = machine.observe(pid);
	if (typeof worker === "string") throw new Error("it is gone already");
	await host.kill();
	endGroup(machine, worker);
	await eventually("its end", () => !isAlive(pid));
	expect(await newest(dataDir)).toMatchObject({
		state: "host_died",
		incidents: [],
		workers: [{ end: { reason: "vanished", killer: "unknown" } }],
	});
	const killed = {
		...{ type: "protection.process_killed", wallMs: 5, protection: "guard" },
		...{ ofRun: runId, pid, startTime: worker.startTime },
		...{ incarnation: `${runId}-1`, foundBy: "descent", signal: "SIGKILL" },
	};
	writeFileSync(
		join(runDirectory, "incidents.guard.jsonl"),
		`${JSON.stringify(killed)}\n`,
	);
	expect(await newest(dataDir)).toMatchObject({
		incidents: [killed],
		workers: [{ endedAt: 5, end: { reason: "reaped", killer: "protection" } }],
	});
});

test("a run of an earlier boot is over with its machine; of one on another machine nothing is judged", async () => {
	const listening = (runId: string) => [
		workerRow(runId, { identity: deadOwner(), lifeline: "listening" }),
	];
	const earlier = temporaryDirectory();
	await craftRun(earlier, deadOwner({ bootId: "before" }), {}, listening);
	expect(await newest(earlier)).toMatchObject({
		state: "host_died",
		workers: [{ end: { reason: "vanished", killer: "unknown" } }],
	});
	const elsewhere = temporaryDirectory();
	await craftRun(elsewhere, deadOwner({ machineId: "other" }), {}, listening);
	expect(await newest(elsewhere)).toMatchObject({
		state: "running",
		workers: [{ status: "active", end: undefined }],
	});
});
