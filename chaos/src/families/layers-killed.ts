import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import {
	BOTH,
	type ChaosCase,
	family,
	GUARD,
	LAYERS,
	type RoundOutcome,
	unless,
	WATCHDOG,
} from "../case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import {
	end,
	look,
	type SeenProcess,
	signal,
} from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";
import { preloadedHostKilled } from "./host-killed.ts";

/** The longest time between two kills: the second falls into the reaction to the first. */
const APART_MS = 30;
const SIZE = 2;
const PRELOADED = 4;

type Party =
	| "host"
	| "watchdog"
	| "outer guard"
	| "middle guard"
	| "inner guard"
	| "worker";

const GUARDS: readonly Party[] = ["outer guard", "middle guard", "inner guard"];

const drawnFrom = (...parties: readonly Party[]) => ({
	name: `drawn from ${parties.join(", ")}`,
	target: { maxMs: 1_000 },
	// What it promises is far from what another case beside it adds.
	timed: false,
	round: (stage: Stage) => killSome(stage, parties),
});

export const layersKilled: readonly ChaosCase[] = [
	...family(
		"one or two of host, watchdog, guard and worker are killed, together or one after the other",
		[WATCHDOG, GUARD],
		[
			{
				...drawnFrom("host", "watchdog", "worker"),
				with: [WATCHDOG],
				rounds: 20,
			},
			{ ...drawnFrom("host", ...GUARDS, "worker"), with: [GUARD], rounds: 20 },
			{
				...drawnFrom("host", "watchdog", ...GUARDS, "worker"),
				with: [BOTH],
				rounds: 60,
				selected: 2,
				selectedWith: BOTH,
			},
			{
				name: "a worker alone: its daemon, which cleared its environment, while the host lives",
				keptWith: [],
				rounds: 3,
				unkeptRounds: 3,
				round: killOneWorker,
			},
		],
	),
	...family(
		"SIGKILL of the host while its guards cannot act as usual",
		[GUARD],
		[
			{
				name: "all three guards are stopped",
				hinder: (guard: SeenProcess) => signal(guard.pid, "SIGSTOP"),
			},
			{
				name: "all three guards may open nothing",
				hinder: ({ pid }: SeenProcess) =>
					execFileSync("prlimit", ["--pid", `${pid}`, "--nofile=0:"]),
			},
			{
				name: "of each worker a daemon whose first thread has ended",
				tool: "with_a_daemon_without_its_first_thread",
				role: "first-thread-ended",
				hinder: () => {},
			},
		].map(({ name, hinder, tool, role }) => ({
			...{ name, rounds: 10, selected: 1 },
			target: { maxMs: 1_000 },
			timed: false,
			round: (stage: Stage) => killHindered(stage, hinder, tool, role),
		})),
	),
	...preloadedHostKilled,
	...family(
		"the preloaded parent is killed, alone or with the host or a worker",
		LAYERS,
		(
			[
				["parent"],
				["parent", "host"],
				["host", "parent"],
				["parent", "worker"],
			] as const
		).map((parties) => ({
			name: parties.join(", then "),
			rounds: 10,
			target: { maxMs: 1_000 },
			round: (stage: Stage) => killParent(stage, parties),
		})),
	),
];

async function killHindered(
	stage: Stage,
	hinder: (guard: SeenProcess) => unknown,
	tool = "with_a_forgotten_daemon",
	role = "forgotten",
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: SIZE });
	await host.call(tool);
	await stage.sees(role, SIZE);
	for (const guard of GUARDS) hinder(find(host, guard, 0));
	return await stage.untilGone(host.kill());
}

async function killSome(
	stage: Stage,
	parties: readonly Party[],
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: SIZE });
	const chosen = draw(stage, parties);
	const role = await growTree(stage, host, chosen, parties);
	const [pid = 0] = await host.workers();
	const [first, second] = chosen.map((party) => find(host, party, pid));
	const apartMs = stage.chance.of(0.5) ? 0 : stage.chance.fraction() * APART_MS;
	const at = performance.now();
	if (first) end(first);
	if (second) {
		if (apartMs > 0) await sleep(apartMs);
		end(second);
	}
	const killed = chosen.join(", then ");
	if (chosen.includes("host")) return await namingTheKilled(stage, at, killed);
	// The host lives: what it lost ends, and is replaced. Then it is killed too.
	const kept = chosen.some((party) => party.endsWith("guard"))
		? 0
		: // Nothing knows any more which worker started the daemon: it ends with the host.
			SIZE - Number(chosen.includes("worker") && role !== "forgotten");
	const clean = await stage.witness.until(
		() => stage.witness.living(role).length <= kept,
		5_000,
	);
	await host.call("pid", {}, 10);
	for (const protection of ["watchdog", "guard"])
		if (chosen.some((party) => party.endsWith(protection)))
			await host.fact<{ protection: string; restarts: number }>(
				"protection.started",
				(each) => each.protection === protection && each.restarts > 0,
			);
	const outcome = await namingTheKilled(stage, host.kill(), killed);
	return clean
		? outcome
		: { ...outcome, broken: [`Left while the host lived, killed: ${killed}.`] };
}

async function namingTheKilled(
	stage: Stage,
	sinceMs: number,
	killed: string,
): Promise<RoundOutcome> {
	const ending = await stage.untilGone(sinceMs);
	return { ...ending, broken: unless(!ending.leftovers, `Killed: ${killed}.`) };
}

async function killOneWorker(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({ size: 1 });
	await host.call("with_a_forgotten_daemon");
	await stage.sees("forgotten", 1);
	const [pid = 0] = await host.workers();
	process.kill(pid, "SIGKILL");
	await host.fact("worker.exited");
	const daemon = (): number => stage.witness.living("forgotten").length;
	await stage.witness.until(() => daemon() === 0, 3_000);
	return { leftovers: daemon() };
}

/**
 * Leaves in every worker the descendant that is hardest to find for the parties that stay alive;
 * returns its role.
 */
async function growTree(
	stage: Stage,
	host: HostProcess,
	chosen: readonly Party[],
	parties: readonly Party[],
): Promise<string> {
	const killed = (...all: readonly Party[]): boolean =>
		all.every((party) => chosen.includes(party) || !parties.includes(party));
	const [tool, role] = !killed(...GUARDS)
		? (["with_a_forgotten_daemon", "forgotten"] as const)
		: killed("host", "watchdog")
			? (["with_children", "child"] as const)
			: (["with_a_daemon", "daemon"] as const);
	await host.call(tool);
	await stage.sees(role, SIZE);
	return role;
}

/** One or two, in an order that is drawn, too. */
function draw(stage: Stage, parties: readonly Party[]): readonly Party[] {
	const first = stage.chance.pick(parties);
	const others = parties.filter((party) => party !== first);
	return stage.chance.of(0.3) ? [first] : [first, stage.chance.pick(others)];
}

function find(host: HostProcess, party: Party, worker: number): SeenProcess {
	const of = (name: string): readonly SeenProcess[] =>
		host.layers.find(({ protection }) => protection === name)?.processes ?? [];
	const found = {
		host: look(host.pid),
		watchdog: of("watchdog")[0],
		"outer guard": of("guard")[0],
		"middle guard": of("guard")[1],
		"inner guard": of("guard")[2],
		worker: look(worker),
	}[party];
	if (!found) throw new Error(`There is no ${party}.`);
	return found;
}

async function killParent(
	stage: Stage,
	parties: readonly ("parent" | "host" | "worker")[],
): Promise<RoundOutcome> {
	const host = await stage.ready({
		size: PRELOADED,
		preload: { modules: ["numpy"] },
	});
	await stage.sees("worker", PRELOADED);
	for (let worker = 0; worker < PRELOADED; worker++)
		await host.call("with_children");
	const { pid } = await host.fact<{ pid: number }>("preload.started");
	const [worker = 0] = await host.workers();
	const victims = { parent: pid, host: host.pid, worker };
	const found = parties.map((party) => look(victims[party]));
	const at = performance.now();
	for (const [n, victim] of found.entries()) {
		if (n > 0 && stage.chance.of(0.5))
			await sleep(stage.chance.fraction() * APART_MS);
		if (victim) end(victim);
	}
	if (parties.includes("host")) return await stage.untilGone(at);
	// The host lives: its workers ended with their parent, and others come from another one.
	await stage.sees("worker", 2 * PRELOADED);
	const living = (): number => stage.witness.living("worker").length;
	const whole = await stage.witness.until(() => living() === PRELOADED, 5_000);
	await host.call("pid", {}, PRELOADED);
	const broken = [
		...unless(whole, `${living()} workers live, not ${PRELOADED}.`),
		...host
			.facts<{ code: string }>("preload.unavailable")
			.map(({ code }) => `There was no other parent: ${code}.`),
	];
	return { ...(await stage.untilGone(host.kill())), broken };
}
