import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	unless,
} from "../case.ts";
import {
	ControlGroup,
	controlGroupsUnavailable,
} from "../harness/control-group.ts";
import type { HostProcess, HostSetting } from "../harness/host-process.ts";
import {
	fillDisk,
	mountsUnavailable,
	onOwnDisk,
} from "../harness/isolation.ts";
import { vitalSigns } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";

const SIZE = 2;
/** More than it needs, and soon taken. */
const MOST_DESCRIPTORS = 256;
const MEMORY_BYTES = 200 * 1024 * 1024;
const SHARED_MEMORY = "/dev/shm";

export const resources: readonly ChaosCase[] = family(
	"resources run out: a typed error, the pool heals, SIGKILL leaves nothing",
	[GUARD],
	[
		{ name: "no descriptors (EMFILE)", selected: 1, round: noDescriptors },
		{
			name: "fork is refused (a limit of processes)",
			unavailable: () => controlGroupsUnavailable("pids"),
			round: noProcesses,
		},
		{
			name: "a worker is killed for memory",
			unavailable: () => controlGroupsUnavailable("memory"),
			round: noMemory,
		},
		{
			name: "the disk of sockets and scratch files is full",
			unavailable: mountsUnavailable,
			round: noDisk,
		},
		{
			name: "shared memory is full: large values are sent as messages, and worker and host continue",
			unavailable: mountsUnavailable,
			round: noSharedMemory,
		},
	].map((entry) => ({ ...entry, rounds: 3 })),
);

async function noDescriptors(stage: Stage): Promise<RoundOutcome> {
	const host = await open(stage);
	const limit = `--nofile=${MOST_DESCRIPTORS}:${MOST_DESCRIPTORS}`;
	const { status, stderr } = spawnSync(
		"prlimit",
		["--pid", String(host.pid), limit],
		{ encoding: "utf8" },
	);
	if (status !== 0) throw new Error(`prlimit: ${stderr}`);
	await host.order("takeDescriptors");
	await loseOne(host);
	await host.fact("worker.start_failed");
	await host.order("freeDescriptors");
	return await heals(stage, host);
}

async function noProcesses(stage: Stage): Promise<RoundOutcome> {
	await using group = new ControlGroup("pids");
	const host = await open(stage);
	const parents = host.facts<{ pid: number }>("preload.started");
	const forking = [host.pid, ...parents.map(({ pid }) => pid)];
	for (const pid of forking) group.add(pid);
	// They keep their threads, but cannot start another process.
	const threads = forking.map((pid) => vitalSigns(pid).threads);
	group.limit(threads.reduce((sum, each) => sum + each));
	await loseOne(host);
	await host.fact("worker.start_failed");
	group.limit("none");
	const outcome = await heals(stage, host);
	await host.exited;
	return outcome;
}

async function noMemory(stage: Stage): Promise<RoundOutcome> {
	await using group = new ControlGroup("memory");
	group.limit(MEMORY_BYTES);
	const host = await open(stage);
	for (const pid of await host.workers()) group.add(pid);
	const code = await host.codeOf("take_memory", { megabytes: 600 });
	return {
		broken: unless(code === "WORKER_EXITED", `It failed as ${code}.`),
		...(await heals(stage, host)),
	};
}

async function noDisk(stage: Stage): Promise<RoundOutcome> {
	const runtime = join(stage.directory, "runtime");
	mkdirSync(runtime, { mode: 0o700 });
	const host = await open(stage, {
		before: onOwnDisk(runtime, "size=1m,nr_inodes=64"),
		env: { XDG_RUNTIME_DIR: runtime, TMPDIR: runtime },
	});
	const empty = fillDisk(host.program().pid, runtime);
	await loseOne(host);
	await host.call("pid", {}, 10);
	empty();
	return await heals(stage, host);
}

async function noSharedMemory(stage: Stage): Promise<RoundOutcome> {
	const before = onOwnDisk(SHARED_MEMORY, "size=32m");
	const host = await stage.ready({ size: SIZE }, { before });
	const large = { megabytes: 8 };
	await host.call("large_result", large);
	const empty = fillDisk(host.program().pid, SHARED_MEMORY);
	await host.call("large_result", large);
	empty();
	await host.call("large_result", large);
	const lost = host.facts("worker.exited").length;
	return {
		broken: unless(lost === 0, `${lost} workers ended.`),
		...(await stage.killAfterwards(host)),
	};
}

async function open(
	stage: Stage,
	setting?: Partial<HostSetting>,
): Promise<HostProcess> {
	const host = await stage.ready(
		{
			size: SIZE,
			events: ["worker.start_failed", "worker.ready"],
			pool: {
				// Tries again soon, and again and again.
				start: { maxRestarts: 100_000, backoffMs: 4, timeoutMs: 20_000 },
			},
		},
		setting,
	);
	await stage.sees("worker", SIZE);
	return host;
}

/** A worker dies, and its slot has to be filled. */
async function loseOne(host: HostProcess): Promise<void> {
	host.call("die", {}, 0, 1);
	await host.fact("worker.exited");
}

/** The pool has all its workers again, and takes calls. */
async function heals(stage: Stage, host: HostProcess): Promise<RoundOutcome> {
	await host.fact(
		"worker.ready",
		() => host.facts("worker.ready").length > SIZE,
	);
	await host.call("pid", {}, 10);
	return await stage.killAfterwards(host);
}
