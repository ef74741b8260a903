import { fileURLToPath } from "node:url";
import {
	BOTH,
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	refusedWith,
	unless,
} from "../case.ts";
import { grown, vitalSigns } from "../harness/process-table.ts";
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

export const badWorkers: readonly ChaosCase[] = family(
	"workers that misbehave",
	[GUARD, BOTH],
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
	[GUARD],
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

async function crashLoop(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready(
		{
			...shell("habits.sh"),
			size: 1,
			events: ["pool.restart_budget_spent"],
			pool: { start: { maxRestarts: MAX_RESTARTS, backoffMs: 1 } },
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
		broken: grown(host.pid, before, FLOOD_GROWTH_MB),
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
