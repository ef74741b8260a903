import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { endGroup, endHost } from "../../../../scripts/end-host.ts";
import { rows } from "../../../../scripts/test-effort.ts";
import type { LaunchSpec } from "../../src/contract/launch.ts";
import { SystemProcessHost } from "../../src/os/this-machine.ts";
import { eventually, machine, temporaryDirectory } from "../cleanup/hosts.ts";

const shell = (script: string): LaunchSpec => ({
	executable: "/bin/sh",
	args: ["-c", script],
});
const node = (script: string): LaunchSpec => ({
	executable: process.execPath,
	args: ["-e", `process.on("SIGTERM", () => {}); ${script}`],
});

const SERVER =
	'process.stdin.resume().on("end", () => {}); console.log("up"); setInterval(() => {}, 1e6);';
/** The lifeline's, too. */
const CLOSES_DESCRIPTORS: LaunchSpec = {
	executable: "perl",
	args: [
		...["-MPOSIX", "-e"],
		'POSIX::close($_) for 3..1023; $| = 1; print "up\\n"; sleep;',
	],
};
/** Its daemon left the group, cleared its environment, and wrote its pid into that file. */
const hasDaemon = (file: string): LaunchSpec =>
	shell(
		`env -i PATH="$PATH" setsid -f sh -c 'echo $$ > ${file}.new; mv ${file}.new ${file}; exec sleep 100000'; while [ ! -e ${file} ]; do sleep 0.01; done; echo up; cat`,
	);
const WAITS = shell("echo up; cat");
const PROGRAMS: Readonly<Record<string, LaunchSpec>> = {
	"waits for input": WAITS,
	"ignores SIGTERM and the end of its input": node(SERVER),
	"is busy and never reads its input": node('console.log("up"); for (;;);'),
	"runs below a shell, as npx does it": {
		executable: "/bin/sh",
		args: ["-c", '"$0" "$@" & wait', process.execPath, "-e", SERVER],
	},
	"is written in Perl, and busy": {
		executable: "perl",
		args: ["-e", '$| = 1; $SIG{TERM} = "IGNORE"; print "up\\n"; 1 while 1;'],
	},
	"has a stream, and a listener that its host bound": {
		...node(SERVER),
		descriptors: [
			{ fd: 3, kind: "stream" },
			{ fd: 4, kind: "unix-listener" },
		],
	},
	"is stopped": shell("echo up; kill -STOP $$"),
	"forks without end": shell("echo up; while :; do sleep 0.05 & wait; done"),
};

interface HostOptions {
	/** What Node gets before the program. */
	readonly before?: readonly string[];
	readonly guard?: "off";
}

/** Only the lifeline ends its programs. */
const ALONE: HostOptions = { guard: "off" };

interface Up {
	readonly host: ChildProcess;
	readonly pids: readonly number[];
	/** What it cleaned up when it started. */
	readonly orphans: number;
}

const HOST = join(import.meta.dirname, "any-program-host.ts");
/** Runs the host in a thread, which is terminated when SIGUSR2 arrives. */
const IN_A_THREAD = [
	"-e",
	`const { Worker } = require("node:worker_threads");
	const [, file, ...argv] = process.argv;
	const thread = new Worker(file, { argv });
	process.on("SIGUSR2", () => thread.terminate());
	setInterval(() => {}, 2 ** 30);`,
];

/** @param guard left out: as by default. */
async function hostOf(
	dataDir: string,
	specs: readonly LaunchSpec[],
	{ before = [], guard }: HostOptions = {},
): Promise<Up> {
	const host = spawn(
		process.execPath,
		[
			...[...before, HOST, dataDir, JSON.stringify(specs)],
			...(guard === undefined ? [] : [guard]),
		],
		{
			stdio: ["ignore", "pipe", "inherit"],
			env: { ...process.env, TMPDIR: dataDir },
			// Its group can be killed without this test's.
			detached: true,
		},
	);
	const self = machine.observe(host.pid ?? 0);
	onTestFinished(() => endHost(machine, host, self));
	const lines = createInterface({ input: host.stdout as never });
	const { value } = await lines[Symbol.asyncIterator]().next();
	const { pids, orphans } = JSON.parse(value);
	for (const pid of pids) {
		const worker = machine.observe(pid);
		if (typeof worker !== "string")
			onTestFinished(() => endGroup(machine, worker));
	}
	return { host, pids, orphans };
}

const membersOf = (groups: readonly number[]) =>
	[...machine.membersOf(groups).values()].flat();

function kill(host: ChildProcess, ...signals: readonly NodeJS.Signals[]): void {
	for (const signal of signals) host.kill(signal);
}

const WAYS: readonly (readonly [string, (host: ChildProcess) => void])[] = [
	["its host is killed", (host) => kill(host, "SIGKILL")],
	[
		"its host is killed with its group",
		(host) => process.kill(-(host.pid as number), "SIGKILL"),
	],
	[
		"its host is stopped, and then killed",
		(host) => kill(host, "SIGSTOP", "SIGKILL"),
	],
	["its host crashes", (host) => kill(host, "SIGSEGV")],
];

describe.runIf(process.platform === "linux")("a program that", () => {
	// The next test has them all at once.
	test.each(rows(Object.entries(PROGRAMS), (_, index) => index === 0))(
		"%s is gone with its group when its host is killed",
		async (_, spec) => {
			const { host, pids } = await hostOf(temporaryDirectory(), [spec], ALONE);
			expect(membersOf(pids).length).toBeGreaterThan(0);
			kill(host, "SIGKILL");
			await eventually("their end", () => membersOf(pids).length === 0);
		},
	);

	test("is one of all of these is gone however the host dies", async () => {
		const all = Object.values(PROGRAMS);
		for (const [, dies] of WAYS) {
			const { host, pids } = await hostOf(temporaryDirectory(), all, ALONE);
			expect(pids).toHaveLength(all.length);
			dies(host);
			await eventually("their end", () => membersOf(pids).length === 0);
		}
	});

	test("is one of all of these is gone when the thread of its pool is terminated", async () => {
		const all = Object.values(PROGRAMS);
		const { host, pids } = await hostOf(temporaryDirectory(), all, {
			...ALONE,
			before: IN_A_THREAD,
		});
		expect(pids).toHaveLength(all.length);
		kill(host, "SIGUSR2");
		await eventually("their end", () => membersOf(pids).length === 0);
		expect(host.exitCode ?? host.signalCode).toBeNull();
	});

	test.each(WAYS)(
		"nothing else would end is gone by default when %s, with its daemon",
		async (_, dies) => {
			const dataDir = temporaryDirectory();
			const file = join(dataDir, "pid");
			const stopped = PROGRAMS["is stopped"] as LaunchSpec;
			const { host, pids } = await hostOf(dataDir, [
				CLOSES_DESCRIPTORS,
				{ ...stopped, lifeline: "off" },
				hasDaemon(file),
			]);
			const all = [...pids, Number(readFileSync(file, "utf8"))];
			expect(all.map((pid) => machine.facts(pid)?.condition)).toEqual(
				Array(4).fill("alive"),
			);
			dies(host);
			await eventually("their end", () =>
				all.every((pid) => machine.observe(pid) === "gone"),
			);
		},
	);

	test("closes descriptors that it does not know, without a guard, outlives its host, until the next program starts", async () => {
		const dataDir = temporaryDirectory();
		const specs = [CLOSES_DESCRIPTORS, WAITS];
		const { host, pids } = await hostOf(dataDir, specs, ALONE);
		const [closer = 0, other = 0] = pids;
		kill(host, "SIGKILL");
		await eventually("the end of the other", () => !membersOf([other]).length);
		expect(membersOf([closer])).toHaveLength(1);
		const next = await hostOf(dataDir, [WAITS]);
		expect(next.orphans).toBe(1);
		expect(membersOf([closer])).toEqual([]);
	});

	test("is launched with its lifeline off, without a guard, outlives its host, and is found in the same way", async () => {
		const dataDir = temporaryDirectory();
		const spec = PROGRAMS["is stopped"] as LaunchSpec;
		const specs = [{ ...spec, lifeline: "off" }, spec] as const;
		const { host, pids } = await hostOf(dataDir, specs, ALONE);
		const [off = 0, tied = 0] = pids;
		kill(host, "SIGKILL");
		await eventually("the end of the other", () => !membersOf([tied]).length);
		expect(membersOf([off])).toHaveLength(1);
		expect((await hostOf(dataDir, [WAITS])).orphans).toBe(1);
	});
});

test("this machine has a native binary exactly where there is a package for it", () => {
	const isSupported =
		process.platform === "linux" && ["x64", "arm64"].includes(process.arch);
	expect(new SystemProcessHost().nativeBinary() !== undefined).toBe(
		isSupported,
	);
});
