import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
	ALONE,
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	unless,
	WATCHDOG,
} from "../case.ts";
import type { HostProcess, HostStart } from "../harness/host-process.ts";
import {
	fillDisk,
	mountsUnavailable,
	onOwnDisk,
	ProcessLimit,
	processLimitUnavailable,
} from "../harness/isolation.ts";
import { vitalSigns } from "../harness/processes.ts";
import type { Stage } from "../harness/stage.ts";

const SIZE = 2;
const SHARED_MEMORY = "/dev/shm";
const RESULT_MB = 40;
/** What a host may grow by for a fault of the bridge, with two of these results. */
const FAULT_GROWTH_MB = 200;
/** The worker died, hung, or was replaced: no other code is allowed. */
const TYPED = ["ok", "WORKER_EXITED", "WORKER_HUNG", "WORKER_REPLACED"];
const SPAWNS = 1_000;
const LANES = 8;
/** What the host holds of a worker that is starting or leaving beside one that stays. */
const STARTING_DESCRIPTORS = 4;
/** What the second half of many lives may add to what the host holds. */
const HEAP_GROWTH_MB = 3;
/** V8 takes more resident memory than it holds, and decides itself when to collect. */
const RESIDENT_GROWTH_MB = 120;
/** For so long a host on a busy machine may hold what starts and ends of workers need. */
const CALM_MS = 20_000;

export const workers: readonly ChaosCase[] = [
	...family(
		"every call ends once, and in a way that is allowed, under random use of pools",
		[GUARD],
		[
			{ pools: 2, generations: 1, calls: 80, selected: GUARD },
			{ pools: 3, generations: 7, calls: 150 },
		].map(({ pools, generations, calls, ...selected }) => ({
			...selected,
			perRound: pools * generations,
			name: `sessions, streams, back-calls, large values, retries, recycling, crashes, a close at any moment; pools in a round: ${pools * generations}`,
			round: (stage: Stage) =>
				liveAtRandom(stage, { pools, generations, calls }),
		})),
	),
	...family(
		"faults of the bridge at a moment that is drawn: a typed error, the worker is replaced, the host stays small",
		[GUARD],
		(["grpc", "framed"] as const).map((transport) => ({
			name: `${transport}: the worker writes nonsense, or is stopped in a call, or in a result of ${RESULT_MB} MB`,
			selected: GUARD,
			round: (stage: Stage) => breakBridge(stage, transport),
		})),
	),
	...family(
		"resources run out: a typed error, the pool heals, SIGKILL leaves nothing",
		[GUARD],
		[
			{
				name: "fork is refused (a limit of processes)",
				unavailable: processLimitUnavailable,
				round: noProcesses,
			},
			{
				name: "the disk of sockets and scratch files is full",
				unavailable: mountsUnavailable,
				round: noDisk,
			},
			{
				name: "shared memory is full: large values are sent as messages, and worker and host continue",
				unavailable: mountsUnavailable,
				selected: GUARD,
				round: noSharedMemory,
			},
			{
				name: "the ledger's disk is full when the host is killed: the watchdog ends the workers all the same",
				with: [WATCHDOG],
				unavailable: mountsUnavailable,
				round: fullLedger,
			},
		],
	),
	...family(
		"many workers, one after the other: no zombie, no descriptor more, memory flat",
		[ALONE, GUARD],
		[
			{
				name: `${SPAWNS} spawns and ends`,
				perRound: SPAWNS,
				round: spawnAndEnd,
			},
		],
	),
];

async function liveAtRandom(
	stage: Stage,
	wanted: { pools: number; generations: number; calls: number },
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: 1 });
	const seed = stage.chance.below(2 ** 31);
	const { endings, wrong } = await host.order("lives", { seed, ...wanted });
	// Otherwise, the round has not tested its promise. One pool alone may be closed before much has happened.
	const missing = ["ok", "CALL_ABORTED", "left", "TOOL_FAILED"].filter(
		(ending) => !endings[ending],
	);
	if (wanted.generations > 1 && missing.length > 0)
		throw new Error(
			`No call ended as ${missing.join(", ")}: ${JSON.stringify(endings)}`,
		);
	return {
		broken: wrong.map((text) => `Seed ${seed}: ${text}.`),
		...(await stage.killAfterwards(host)),
	};
}

/** The call fails as one whose worker is lost, or is answered, and another worker takes the next. */
async function breakBridge(
	stage: Stage,
	transport: "grpc" | "framed",
): Promise<RoundOutcome> {
	const host = await stage.ready({
		...{ size: 1, transport },
		pool: { heartbeat: { intervalMs: 100, hungAfterMs: 1_500 } },
	});
	const [pid = 0] = await host.workers();
	const before = vitalSigns(host.pid).residentMb;
	const { chance } = stage;
	const fault = chance.pick([
		"malformed",
		"oversized",
		"noise",
		"stop",
		"large",
	]);
	const code = await (async () => {
		if (fault !== "stop" && fault !== "large")
			return await host.codeOf("speak_nonsense", { kind: fault });
		const ended =
			fault === "stop"
				? host.codeOf("sleep")
				: host.codeOf("large_result", { megabytes: RESULT_MB });
		if (fault === "stop") await stage.sees("begun", 1);
		await sleep(chance.fraction() * 50);
		process.kill(pid, "SIGSTOP");
		return await ended;
	})();
	await host.fact("worker.exited");
	await host.call("pid", {}, 10);
	const { peakMb } = vitalSigns(host.pid);
	return {
		broken: [
			...unless(TYPED.includes(code), `It failed as ${code}, ${fault}.`),
			...unless(
				peakMb - before <= FAULT_GROWTH_MB,
				`The host grew from ${Math.round(before)} to ${Math.round(peakMb)} MB, ${fault}.`,
			),
		],
		...(await stage.killAfterwards(host)),
	};
}

async function noProcesses(stage: Stage): Promise<RoundOutcome> {
	await using group = new ProcessLimit();
	const host = await open(stage);
	const parents = host.facts<{ pid: number }>("preload.started");
	const guards = host.layers.flatMap(({ processes }) => processes);
	const forking = [host, ...parents, ...guards].map(({ pid }) => pid);
	for (const pid of forking) group.add(pid);
	// They keep their threads, but cannot start another process.
	const threads = forking.map((pid) => vitalSigns(pid).threads);
	group.limit(threads.reduce((sum, each) => sum + each));
	await loseOne(host);
	await host.fact("worker.start_failed");
	group.limit("max");
	const outcome = await heals(stage, host);
	await host.exited;
	return outcome;
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

/** Without a lifeline that would end them with their host. */
async function fullLedger(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready(
		{ worker: "shell", lifeline: "off", size: SIZE },
		{ before: onOwnDisk(stage.dataDir, "size=2m") },
	);
	await stage.sees("worker", SIZE);
	fillDisk(host.program().pid, stage.dataDir);
	return await stage.untilGone(host.kill());
}

async function open(
	stage: Stage,
	start?: Partial<HostStart>,
): Promise<HostProcess> {
	const host = await stage.ready(
		{
			size: SIZE,
			events: ["worker.start_failed", "worker.ready"],
			// Tries again soon, and again and again.
			pool: {
				start: { maxRestarts: 100_000, backoffMs: 4, timeoutMs: 20_000 },
			},
		},
		start,
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
	const isWhole = (): boolean => host.facts("worker.ready").length > SIZE;
	await host.fact("worker.ready", isWhole);
	await host.call("pid", {}, 10);
	return await stage.killAfterwards(host);
}

/** Workers are replaced after a call each; calls go on until enough have ended. */
async function spawnAndEnd(stage: Stage): Promise<RoundOutcome> {
	const program = join(import.meta.dirname, "../../programs/quick-worker.sh");
	const host = await stage.ready(
		{
			...{ worker: "shell", program, size: LANES },
			pool: { recycle: { afterCalls: 1 } },
		},
		{ nodeArguments: ["--expose-gc"] },
	);
	const until = async (count: number): Promise<void> => {
		while (host.facts("worker.exited").length < count)
			await host.call("anything");
	};
	await until(SPAWNS / 2);
	const heapBefore = await host.order("heapMb");
	const before = vitalSigns(host.pid);
	await until(SPAWNS);
	const most = before.descriptors + STARTING_DESCRIPTORS * LANES;
	let heap = await host.order("heapMb");
	let after = vitalSigns(host.pid);
	// What workers need that are just starting or leaving is freed when they have.
	const deadline = performance.now() + CALM_MS;
	while (
		(heap > heapBefore + HEAP_GROWTH_MB || after.descriptors > most) &&
		performance.now() < deadline
	) {
		heap = await host.order("heapMb");
		after = vitalSigns(host.pid);
	}
	return {
		broken: [
			...unless(
				heap <= heapBefore + HEAP_GROWTH_MB,
				`${heap.toFixed(1)} MB held after ${heapBefore.toFixed(1)} MB.`,
			),
			// One that ended this very moment is about to be collected.
			...unless(after.zombies <= LANES, `${after.zombies} zombies.`),
			...unless(
				after.descriptors <= most,
				`${after.descriptors} descriptors after ${before.descriptors}.`,
			),
			...unless(
				after.residentMb <= before.residentMb + RESIDENT_GROWTH_MB,
				`${Math.round(after.residentMb)} MB after ${Math.round(before.residentMb)} MB.`,
			),
		],
		...(await stage.killAfterwards(host)),
	};
}
