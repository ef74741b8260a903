import { fileURLToPath } from "node:url";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import type { Stage } from "../harness/stage.ts";
import { vitalSigns } from "../harness/vital-signs.ts";
import { ALONE, BOTH, withLayers } from "./layers.ts";

const ROW = "workers that misbehave";
const program = (name: string): string =>
	fileURLToPath(new URL(`../../programs/${name}`, import.meta.url));
const HABITS = program("habits.sh");
const MAX_RESTARTS = 5;
/**
 * What a host may grow by, whatever a worker prints: a fifth of it. V8 lets buffers
 * and young objects come together before it collects them, beyond 100 MB where
 * others keep the machine busy.
 */
const GROWTH_MB = 200;

export const badWorkers: readonly ChaosCase[] = [ALONE, BOTH].flatMap(
	(protections) => [
		withLayers(protections, {
			row: ROW,
			name: "a crash loop: the budget of restarts is honoured",
			rounds: 3,
			...(protections === ALONE ? { selected: 1 } : {}),
			round: crashLoop,
		}),
		withLayers(protections, {
			row: ROW,
			name: "exits before it is ready",
			rounds: 3,
			round: (stage) =>
				refused(stage, "exits-before-ready", "WORKER_EXITED_EARLY"),
		}),
		withLayers(protections, {
			row: ROW,
			name: "is never ready",
			rounds: 3,
			round: (stage) => refused(stage, "never-ready", "START_TIMEOUT"),
		}),
		withLayers(protections, {
			row: ROW,
			name: "floods 1 GB of output: the host stays small",
			rounds: 2,
			round: flood,
		}),
		withLayers(protections, {
			row: ROW,
			name: "is killed while a daemon holds its output: the time is until the pool knows",
			rounds: 5,
			target: { maxMs: 1_000 },
			round: outputHeld,
		}),
	],
);

async function crashLoop(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready(
		{
			worker: "shell",
			program: HABITS,
			size: 1,
			events: ["pool.restart_budget_spent"],
			pool: {
				start: { maxRestarts: MAX_RESTARTS, backoffMs: 5, maxBackoffMs: 20 },
			},
		},
		{ env: { CHAOS_HABIT: "crashes-when-called" } },
	);
	// Each call ends the worker that takes it.
	for (let call = 0; call <= MAX_RESTARTS + 1; call++)
		host.order({ id: `call ${call}`, call: "anything", times: 1 });
	await host.told("pool.restart_budget_spent");
	const spawns = host.all("worker.spawned").length;
	const broken =
		spawns <= MAX_RESTARTS + 1
			? []
			: [`${spawns} spawns with a budget of ${MAX_RESTARTS} restarts.`];
	return { broken, ...(await stage.killAfterwards(host)) };
}

async function refused(
	stage: Stage,
	habit: string,
	code: string,
): Promise<RoundOutcome> {
	const host = stage.start(
		{
			worker: "shell",
			program: HABITS,
			size: 1,
			pool: { start: { timeoutMs: 1_000, maxRestarts: 0 } },
		},
		{ env: { CHAOS_HABIT: habit } },
	);
	const said = await host.told("refused");
	await host.exited;
	const { leftovers } = await stage.untilGone(performance.now());
	return {
		leftovers,
		broken: said === code ? [] : [`It said ${said} instead of ${code}.`],
	};
}

async function flood(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({ size: 1 });
	const before = vitalSigns(host.pid);
	await host.call("flood", { megabytes: 1_024 });
	const grown = vitalSigns(host.pid).peakMb - before.residentMb;
	const broken =
		grown <= GROWTH_MB ? [] : [`The host grew beyond ${GROWTH_MB} MB.`];
	return { broken, ...(await stage.killAfterwards(host)) };
}

async function outputHeld(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({ size: 1 });
	await host.call("with_a_daemon_that_holds_the_output");
	await stage.sees("holds-output", 1);
	const at = performance.now();
	process.kill(await worker(host), "SIGKILL");
	await host.told("worker.exited");
	return { goneMs: performance.now() - at };
}

async function worker(host: HostProcess): Promise<number> {
	const [pid] = await host.told<readonly number[]>("ready");
	if (pid === undefined) throw new Error("It has no worker.");
	return pid;
}
