import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ProcessIdentity } from "../../src/contract/identity.ts";
import { openRun } from "../../src/index.ts";
import { SystemProcessHost } from "../../src/infrastructure.ts";
import { GuardTree } from "../../src/os/guard-tree.ts";
import { EventRecorder } from "../../src/testing.ts";
import { eventually } from "../cleanup/hosts.ts";
import {
	firstLine,
	type GuardBench,
	guardOfTest,
	startScript,
} from "./bench.ts";

const machine = new SystemProcessHost();

/** Says its pid: a process that nothing but its descent shows to be of the run. */
const FORGOTTEN = `python3 -S -c '
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        os.closerange(0, 100)
        os.execve("/bin/sleep", ["sleep", "100000"], {})
    os._exit(0)
os.wait()
'`;

/** Attaches to these processes, so that they stand still and no SIGCONT continues them. */
const TRACER = `
import ctypes, os, signal, sys
library = ctypes.CDLL(None, use_errno=True)
for pid in map(int, sys.argv[1:]):
    if library.ptrace(16, pid, 0, 0) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    os.waitpid(pid, 0x40000000)
print("held", flush=True)
while True: signal.pause()
`;

/** How guards are kept from acting. */
const WAYS = ["stopped", "traced"] as const;

async function hold(way: (typeof WAYS)[number], pids: readonly number[]) {
	if (way === "stopped") {
		for (const pid of pids) process.kill(pid, "SIGSTOP");
		return;
	}
	const tracer = spawn("python3", ["-S", "-c", TRACER, ...pids.map(String)], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	onTestFinished(() => void tracer.kill("SIGKILL"));
	const [said] = await once(tracer.stdout, "data");
	expect(String(said).trim()).toBe("held");
}

function identityOf(pid: number): ProcessIdentity {
	const seen = machine.observe(pid);
	if (typeof seen === "string") throw new Error(`${pid} is ${seen}`);
	return seen;
}

function guardsOf(outer: number): readonly number[] {
	const tree = GuardTree.below(machine, identityOf(outer));
	return tree.guards().map(({ pid }) => pid);
}

const isGone = (pid: number): boolean => machine.observe(pid) === "gone";

/** Ends, whatever happens, what would be left by a test that fails. */
function endAfterTest(pids: readonly number[]): void {
	const identities = pids.map(identityOf);
	onTestFinished(() => {
		for (const each of identities) machine.signal(each, "SIGKILL");
	});
}

async function held(bench: GuardBench, way: (typeof WAYS)[number]) {
	const worker = await startScript(bench, `${FORGOTTEN}; sleep 100000`);
	const forgotten = Number(await firstLine(worker));
	const guards = guardsOf(bench.outer());
	expect(guards.length).toBe(3);
	const pids = [...guards, worker.identity.pid, forgotten];
	endAfterTest(pids);
	await hold(way, guards);
	return { worker, pids };
}

describe.runIf(process.platform === "linux").each(WAYS)(
	"while all three guards are %s",
	(way) => {
		test("close() resolves when nothing of the run is left, its guards included", async () => {
			const bench = await guardOfTest();
			const { pids } = await held(bench, way);
			await bench.run.close();
			expect(pids.filter((pid) => !isGone(pid))).toEqual([]);
		}, 60_000);

		test("a job below them settles, whether it ends or is stopped", async () => {
			const bench = await guardOfTest();
			const abort = new AbortController();
			const jobs = [
				bench.run.job(["sleep", "100000"]),
				bench.run.job(["sleep", "100000"], { signal: abort.signal }),
			];
			const results = jobs.map((job) => job.result().catch((error) => error));
			await eventually("the jobs", () =>
				jobs.every(({ pid }) => pid !== undefined),
			);
			endAfterTest(jobs.map(({ pid = 0 }) => pid));
			await held(bench, way);
			process.kill(jobs[0]?.pid ?? 0, "SIGTERM");
			abort.abort();
			expect(await Promise.all(results)).toMatchObject([
				{ code: "JOB_FAILED", exit: { kind: "signal" } },
				{ code: "JOB_ABORTED", exit: { kind: "signal" } },
			]);
			if (way === "stopped") return;
			// The next one has another chain: nothing served it any more.
			expect(await bench.events.waitFor("protection.ended")).toMatchObject({
				...{
					how: "lost",
					loss: expect.stringMatching(/traced it for seconds/),
				},
			});
			expect(await bench.run.job(["echo", "again"]).text()).toBe("again\n");
		}, 60_000);

		test("the exit of the program leaves nothing", async () => {
			const { host, pids } = await hostHeld(way);
			const exit = once(host, "exit");
			host.kill("SIGUSR2");
			await exit;
			await eventually("the end of all", () => pids.every(isGone));
		}, 60_000);

		test("a program that is killed leaves nothing, or, where they cannot act, what the next start ends", async () => {
			const { host, pids, dataDir } = await hostHeld(way);
			const exit = once(host, "exit");
			host.kill("SIGKILL");
			await exit;
			if (way === "traced") {
				expect(pids.filter(isGone).length).toBeLessThanOrEqual(1);
				const events = new EventRecorder();
				const run = await openRun({ dataDir, onEvent: events.record });
				await run.close();
				const reaped = events.of("orphan.reaped");
				expect(reaped.map(({ foundBy }) => foundBy)).toEqual(
					Array(pids.length).fill("descent"),
				);
			}
			await eventually("the end of all", () => pids.every(isGone));
		}, 60_000);
	},
);

/** A program of its own whose guards are held: its pid, and those of its guards, its worker and what that one left. */
async function hostHeld(way: (typeof WAYS)[number]) {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
	const program = join(import.meta.dirname, "host-program.ts");
	const host = spawn(
		process.execPath,
		[
			...["--conditions=snakepit-source", program],
			...[dataDir, `${FORGOTTEN}; exec sleep 100000`],
		],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	onTestFinished(() => {
		host.kill("SIGKILL");
		rmSync(dataDir, { recursive: true });
	});
	const seen: string[] = [];
	createInterface({ input: host.stdout }).on("line", (line) => seen.push(line));
	await eventually("the processes", () => seen.length === 3);
	const [outer = 0, worker = 0, forgotten = 0] = seen.map((line) =>
		Number(line.split(" ").at(-1)),
	);
	const guards = guardsOf(outer);
	const pids = [...guards, worker, forgotten];
	expect(pids.length).toBe(5);
	endAfterTest(pids);
	await hold(way, guards);
	return { host, pids, dataDir };
}
