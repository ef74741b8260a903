import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import {
	ControlGroup,
	controlGroupsUnavailable,
} from "../harness/control-group.ts";
import type { HostProcess } from "../harness/host-process.ts";
import {
	fillDisk,
	mountsUnavailable,
	onOwnDisk,
} from "../harness/small-disk.ts";
import type { Stage } from "../harness/stage.ts";
import { programBehind } from "../harness/stage-processes.ts";
import { ALONE, withLayers } from "./layers.ts";

const ROW =
	"resources run out: a typed error, the pool heals, SIGKILL leaves nothing";
const SIZE = 2;
/** More than it needs, and soon taken. */
const MOST_DESCRIPTORS = 256;
const MB = 1024 * 1024;
const SHARED_MEMORY = "/dev/shm";
/** Quick to try again, and never out of tries. */
const HEALS = {
	start: {
		maxRestarts: 100_000,
		backoffMs: 50,
		maxBackoffMs: 200,
		timeoutMs: 20_000,
	},
};
const EVENTS = ["worker.start_failed", "worker.ready"];

export const resources: readonly ChaosCase[] = [
	withLayers(ALONE, {
		row: ROW,
		name: "no descriptors (EMFILE)",
		rounds: 3,
		selected: 1,
		round: noDescriptors,
	}),
	withLayers(ALONE, {
		row: ROW,
		name: "fork is refused (a limit of processes)",
		rounds: 3,
		unavailable: () => controlGroupsUnavailable("pids"),
		round: noProcesses,
	}),
	withLayers(ALONE, {
		row: ROW,
		name: "a worker is killed for memory",
		rounds: 3,
		unavailable: () => controlGroupsUnavailable("memory"),
		round: noMemory,
	}),
	withLayers(ALONE, {
		row: ROW,
		name: "the disk of sockets and scratch files is full",
		rounds: 3,
		unavailable: mountsUnavailable,
		round: noDisk,
	}),
	withLayers(ALONE, {
		row: ROW,
		name: "shared memory is full: large values take the plain way, and worker and host live on",
		rounds: 3,
		unavailable: mountsUnavailable,
		round: noSharedMemory,
	}),
];

async function noDescriptors(stage: Stage): Promise<RoundOutcome> {
	const host = await open(stage);
	limitDescriptors(host.pid, MOST_DESCRIPTORS);
	host.order({ descriptors: "take" });
	await host.told("descriptors");
	await loseOne(host);
	await host.told("worker.start_failed");
	host.order({ descriptors: "free" });
	return await heals(stage, host);
}

async function noProcesses(stage: Stage): Promise<RoundOutcome> {
	await using group = new ControlGroup("pids");
	const host = await open(stage);
	const parents = host.all<{ pid: number }>("preload.started");
	const forking = [host.pid, ...parents.map(({ pid }) => pid)];
	for (const pid of forking) group.add(pid);
	// They have the threads that they have, and not one process more.
	group.limit(forking.map(threadsOf).reduce((sum, threads) => sum + threads));
	await loseOne(host);
	await host.told("worker.start_failed");
	group.limit("none");
	const outcome = await heals(stage, host);
	await host.exited;
	return outcome;
}

function threadsOf(pid: number): number {
	const status = readFileSync(`/proc/${pid}/status`, "utf8");
	return Number(/^Threads:\s+(\d+)/m.exec(status)?.[1]);
}

async function noMemory(stage: Stage): Promise<RoundOutcome> {
	await using group = new ControlGroup("memory");
	group.limit(200 * MB);
	const host = await open(stage);
	for (const pid of await host.told<readonly number[]>("ready")) group.add(pid);
	host.order({
		id: "big",
		call: "take_memory",
		args: { megabytes: 600 },
		times: 1,
	});
	await host.told<string>("failed", 60_000, (id) => id === "big");
	const broken = codes(host).has("WORKER_EXITED")
		? []
		: [`It failed as ${[...codes(host)].join(", ")}.`];
	return { broken, ...(await heals(stage, host)) };
}

async function noDisk(stage: Stage): Promise<RoundOutcome> {
	const runtime = join(stage.directory, "runtime");
	mkdirSync(runtime, { mode: 0o700 });
	const host = await stage.ready(
		{ size: SIZE, pool: HEALS, events: EVENTS },
		{
			before: onOwnDisk(runtime, "size=1m,nr_inodes=64"),
			env: { XDG_RUNTIME_DIR: runtime, TMPDIR: runtime },
		},
	);
	const { pid } = programBehind(host, stage);
	const seen = join("/proc", String(pid), "root", runtime);
	const empty = fillDisk(seen);
	await loseOne(host);
	await host.call("pid", {}, 10);
	empty();
	return await heals(stage, host);
}

async function noSharedMemory(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready(
		{ size: SIZE, events: EVENTS },
		{ before: onOwnDisk(SHARED_MEMORY, "size=32m") },
	);
	const { pid } = programBehind(host, stage);
	const large = { megabytes: 8 };
	await host.call("large_result", large);
	const empty = fillDisk(join("/proc", String(pid), "root", SHARED_MEMORY));
	await host.call("large_result", large);
	empty();
	await host.call("large_result", large);
	const lost = host.all("worker.exited").length;
	return {
		broken: lost === 0 ? [] : [`${lost} workers ended.`],
		...(await stage.killAfterwards(host)),
	};
}

async function open(stage: Stage): Promise<HostProcess> {
	const host = await stage.ready({ size: SIZE, pool: HEALS, events: EVENTS });
	await stage.sees("worker", SIZE);
	return host;
}

/** A worker dies, and its slot has to be filled. */
async function loseOne(host: HostProcess): Promise<void> {
	host.order({ id: "die", call: "die", times: 1 });
	await host.told("worker.exited");
}

/** The pool has all its workers again, and takes calls. */
async function heals(stage: Stage, host: HostProcess): Promise<RoundOutcome> {
	await host.told("worker.ready", 60_000, () => {
		return host.all("worker.ready").length > SIZE;
	});
	await host.call("pid", {}, 10);
	return await stage.killAfterwards(host);
}

function codes(host: HostProcess): ReadonlySet<unknown> {
	return new Set(host.all("code"));
}

function limitDescriptors(pid: number, count: number): void {
	const args = ["--pid", String(pid), `--nofile=${count}:${count}`];
	const { status, stderr } = spawnSync("prlimit", args, { encoding: "utf8" });
	if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}
