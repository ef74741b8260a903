import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
	ALONE,
	BOTH,
	type ChaosCase,
	family,
	type RoundOutcome,
	refusedWith,
	unless,
} from "../case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import { signal, vitalSigns } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";

const shell = (name: string) => ({
	worker: "shell" as const,
	program: fileURLToPath(new URL(`../../programs/${name}`, import.meta.url)),
});
const MAX_RESTARTS = 5;
const LANES = 8;
/** What the host holds of a worker that is starting or leaving beside one that stays. */
const STARTING_DESCRIPTORS = 4;
/** What the second half of many lives may add to what the host holds. */
const HEAP_GROWTH_MB = 3;
/** For so long a host on a busy machine may hold what starts and ends of workers need. */
const CALM_MS = 20_000;
/** V8 takes more resident memory than it holds, and decides itself when to collect. */
const RESIDENT_GROWTH_MB = 120;
/**
 * What a host may grow by, whatever a worker prints: a fifth of it. V8 lets buffers
 * and young objects add up before it collects them, beyond 100 MB on a busy machine.
 */
const FLOOD_GROWTH_MB = 200;
/** What a host may grow by for a fault of the bridge, beside twice the result. */
const FAULT_GROWTH_MB = 120;
const RESULT_MB = 40;
const HUNG_SOON = {
	heartbeat: {
		intervalMs: 100,
		hungAfterMs: 1_500,
	},
};
/** The worker died, hung, or was replaced: nothing vaguer. */
const TYPED = ["ok", "WORKER_EXITED", "WORKER_HUNG", "WORKER_REPLACED"];

export const badWorkers: readonly ChaosCase[] = family(
	"workers that misbehave",
	[ALONE, BOTH],
	[
		{
			name: "a crash loop: the budget of restarts is honoured",
			rounds: 3,
			selected: 1,
			round: crashLoop,
		},
		{
			name: "exits before it is ready",
			rounds: 3,
			round: refused("exits-before-ready", "WORKER_EXITED_EARLY"),
		},
		{
			name: "is never ready",
			rounds: 3,
			round: refused("never-ready", "START_TIMEOUT"),
		},
		{
			name: "floods 1 GB of output: the host stays small",
			rounds: 2,
			round: flood,
		},
		{
			name: "is killed while a daemon holds its output: the time is until the pool knows",
			rounds: 5,
			target: { maxMs: 1_000 },
			round: outputHeld,
		},
	],
);

export const manySpawns: readonly ChaosCase[] = family(
	"many workers, one after the other",
	[ALONE],
	[
		{ lives: 200, selected: 1 },
		{ lives: 10_000 },
		{ lives: 1_000, with: [BOTH] },
	].map(({ lives, ...entry }) => ({
		...entry,
		name: `${lives} spawns and ends: no zombie, no descriptor more, memory flat`,
		rounds: 1,
		round: (stage: Stage) => spawnAndEnd(stage, lives),
	})),
);

const LARGE = [
	"large_result",
	{ megabytes: RESULT_MB },
	async (stage: Stage, pid: number) => {
		await sleep(20 + stage.chance.fraction() * 30);
		process.kill(pid, "SIGSTOP");
	},
] as const;

export const bridgeFaults: readonly ChaosCase[] = family(
	"faults of the bridge: a typed error, the worker is replaced, the host stays small",
	[ALONE],
	(["grpc", "framed"] as const).flatMap((transport) =>
		[
			...["malformed", "oversized", "noise"].map((kind) => ({
				name: `the worker writes onto the stream: ${kind}`,
				...(kind === "malformed" && { selected: 1 }),
				round: fault(transport, "speak_nonsense", { kind }),
			})),
			{
				name: "half-open: the worker is stopped while it runs a call",
				round: fault(transport, "sleep", {}, async (stage, pid) => {
					await stage.sees("begun", 1);
					process.kill(pid, "SIGSTOP");
				}),
			},
			{
				name: `the worker is stopped in the middle of a result of ${RESULT_MB} MB`,
				round: fault(transport, ...LARGE),
			},
			{
				name: `a result of ${RESULT_MB} MB trickles: the worker runs a millisecond of every twenty`,
				rounds: 3,
				round: (stage: Stage) => trickle(stage, transport),
			},
		].map(({ name, ...entry }) => ({
			rounds: 5,
			...entry,
			name: `${transport}: ${name}`,
		})),
	),
);

async function crashLoop(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready(
		{
			...shell("habits.sh"),
			size: 1,
			events: ["pool.restart_budget_spent"],
			pool: {
				start: { maxRestarts: MAX_RESTARTS, backoffMs: 1 },
			},
		},
		{ env: { CHAOS_HABIT: "crashes-when-called" } },
	);
	// Each call ends the worker that takes it.
	for (let call = 0; call <= MAX_RESTARTS + 1; call++)
		host.call("anything", {}, 0, 1);
	await host.fact("pool.restart_budget_spent");
	const spawns = host.facts("worker.spawned").length;
	return {
		broken: unless(
			spawns <= MAX_RESTARTS + 1,
			`${spawns} spawns with a budget of ${MAX_RESTARTS} restarts.`,
		),
		...(await stage.killAfterwards(host)),
	};
}

function refused(habit: string, code: string) {
	return async (stage: Stage): Promise<RoundOutcome> => {
		const host = stage.start(
			{
				...shell("habits.sh"),
				size: 1,
				pool: { start: { timeoutMs: 1_000, maxRestarts: 0 } },
			},
			{ env: { CHAOS_HABIT: habit } },
		);
		return await refusedWith(code, host, stage);
	};
}

async function flood(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({ size: 1 });
	const before = vitalSigns(host.pid).residentMb;
	await host.call("flood", { megabytes: 1_024 });
	return {
		broken: grown(host, before, FLOOD_GROWTH_MB),
		...(await stage.killAfterwards(host)),
	};
}

async function outputHeld(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({ size: 1 });
	await host.call("with_a_daemon_that_holds_the_output");
	await stage.sees("holds-output", 1);
	const [pid = 0] = await host.workers();
	const at = performance.now();
	process.kill(pid, "SIGKILL");
	await host.fact("worker.exited");
	return { goneMs: performance.now() - at };
}

/** Workers are replaced after a call each; calls go on until enough have ended. */
async function spawnAndEnd(stage: Stage, lives: number): Promise<RoundOutcome> {
	const host = await stage.ready(
		{
			...shell("quick-worker.sh"),
			size: LANES,
			pool: { recycle: { afterCalls: 1 } },
		},
		{ nodeArguments: ["--expose-gc"] },
	);
	const until = async (count: number): Promise<void> => {
		while (host.facts("worker.exited").length < count)
			await host.call("anything");
	};
	await until(lives / 2);
	const heapBefore = await host.order("heapMb");
	const before = vitalSigns(host.pid);
	await until(lives);
	let heap = await host.order("heapMb");
	const after = vitalSigns(host.pid);
	// What workers need that are just starting or leaving is freed when they have.
	const deadline = performance.now() + CALM_MS;
	while (heap > heapBefore + HEAP_GROWTH_MB && performance.now() < deadline)
		heap = await host.order("heapMb");
	const most = before.descriptors + STARTING_DESCRIPTORS * LANES;
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

type Transport = "grpc" | "framed";

async function openForFault(stage: Stage, transport: Transport) {
	const host = await stage.ready({ size: 1, transport, pool: HUNG_SOON });
	const [pid = 0] = await host.workers();
	return { host, pid, before: vitalSigns(host.pid).residentMb };
}

/** The call fails as one whose worker is lost, and another worker takes the next. */
function fault(
	transport: Transport,
	tool: string,
	args: unknown,
	afterwards: (stage: Stage, pid: number) => Promise<void> = async () => {},
) {
	return async (stage: Stage): Promise<RoundOutcome> => {
		const { host, pid, before } = await openForFault(stage, transport);
		const ended = host.codeOf(tool, args);
		await afterwards(stage, pid);
		const code = await ended;
		await host.fact("worker.exited");
		await host.call("pid", {}, 10);
		return {
			broken: [
				...unless(TYPED.includes(code), `It failed as ${code}.`),
				...grown(host, before, FAULT_GROWTH_MB + 2 * RESULT_MB),
			],
			...(await stage.killAfterwards(host)),
		};
	};
}

/** Slow is not dead: the call succeeds, or the worker is judged hung, and nothing in between. */
async function trickle(
	stage: Stage,
	transport: Transport,
): Promise<RoundOutcome> {
	const { host, pid, before } = await openForFault(stage, transport);
	const ended = host.codeOf("large_result", { megabytes: RESULT_MB });
	const gone = (): boolean => host.facts("worker.exited").length > 0;
	while (!gone() && !(await Promise.race([ended, sleep(1, "")]))) {
		signal(pid, "SIGSTOP");
		await sleep(20);
		signal(pid, "SIGCONT");
	}
	await ended;
	await host.call("pid", {}, 10);
	return {
		broken: grown(host, before, FAULT_GROWTH_MB + 2 * RESULT_MB),
		...(await stage.killAfterwards(host)),
	};
}

function grown(
	host: HostProcess,
	beforeMb: number,
	mostMb: number,
): readonly string[] {
	const { peakMb } = vitalSigns(host.pid);
	return unless(
		peakMb - beforeMb <= mostMb,
		`The host grew from ${Math.round(beforeMb)} to ${Math.round(peakMb)} MB.`,
	);
}
