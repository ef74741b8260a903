import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { endGroup, endHost } from "../../../../scripts/end-host.ts";
import { eventually, machine, temporaryDirectory } from "../cleanup/hosts.ts";

const hasFfmpeg = spawnSync("ffmpeg", ["-version"]).status === 0;
const ALL: readonly (readonly string[])[] = [
	["sh", "-c", "echo up; exec sleep 1000"],
	["perl", "-e", '$| = 1; print "up\\n"; 1 while 1;'],
	// A shell with children, all of which ignore SIGTERM.
	["sh", "-c", 'trap "" TERM; sleep 1000 & sleep 1000 & echo up; wait'],
	["yes"],
	// Where it is installed: in the middle of its work.
	...(hasFfmpeg
		? [
				[
					...["ffmpeg", "-loglevel", "error", "-re", "-f", "lavfi"],
					...["-i", "testsrc=size=64x64:rate=25", "-f", "matroska", "pipe:1"],
				],
			]
		: []),
];

interface Up {
	readonly host: ChildProcess;
	readonly pids: readonly number[];
	readonly orphans: number;
}

async function hostOf(
	dataDir: string,
	habit: string,
	commands: readonly (readonly string[])[],
): Promise<Up> {
	const program = join(import.meta.dirname, "job-host.ts");
	const host = spawn(
		process.execPath,
		[program, dataDir, habit, JSON.stringify(commands)],
		{
			stdio: ["ignore", "pipe", "inherit"],
			env: { ...process.env, TMPDIR: dataDir },
		},
	);
	const self = machine.observe(host.pid ?? 0);
	onTestFinished(() => endHost(machine, host, self));
	const lines = createInterface({ input: host.stdout as never });
	const { value } = await lines[Symbol.asyncIterator]().next();
	const { pids, orphans } = JSON.parse(value);
	for (const pid of pids) {
		const job = machine.observe(pid);
		if (typeof job !== "string") onTestFinished(() => endGroup(machine, job));
	}
	return { host, pids, orphans };
}

const membersOf = (groups: readonly number[]) =>
	[...machine.membersOf(groups).values()].flat();

describe("jobs of any kind are gone with a program that", () => {
	test.runIf(process.platform === "linux")("is killed", async () => {
		const dataDir = temporaryDirectory();
		const { host, pids } = await hostOf(dataDir, "waits", ALL);
		expect(pids).toHaveLength(ALL.length);
		expect(membersOf(pids).length).toBeGreaterThan(ALL.length);
		host.kill("SIGKILL");
		await eventually("their end", () => membersOf(pids).length === 0);
		expect((await hostOf(dataDir, "waits", [])).orphans).toBe(0);
	});

	test("gets SIGTERM, by which it ends", async () => {
		const dataDir = temporaryDirectory();
		const { host, pids } = await hostOf(dataDir, "waits", ALL);
		const exit = once(host, "exit");
		host.kill("SIGTERM");
		expect(await exit).toEqual([null, "SIGTERM"]);
		expect(membersOf(pids)).toEqual([]);
	});

	test.each([
		["calls process.exit()", "exits", 7],
		["closes its run", "closes", 0],
	])("%s", async (_, habit, code) => {
		const dataDir = temporaryDirectory();
		const { host, pids } = await hostOf(dataDir, habit, ALL);
		if (host.exitCode === null) await once(host, "exit");
		expect(host.exitCode).toBe(code);
		expect(membersOf(pids)).toEqual([]);
	});
});
