import { setTimeout as sleep } from "node:timers/promises";
import {
	ALONE,
	BOTH,
	type ChaosCase,
	family,
	GUARD,
	type Protections,
	type RoundOutcome,
	unless,
	WATCHDOG,
} from "../case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import { end, look, type SeenProcess } from "../harness/processes.ts";
import type { Stage } from "../harness/stage.ts";

/** The longest time between two kills: the second falls into the reaction to the first. */
const APART_MS = 30;
const SIZE = 2;

const GUARDS = ["outer guard", "middle guard", "inner guard"] as const;
type Party =
	| "host"
	| "watchdog"
	| (typeof GUARDS)[number]
	| "worker"
	| "preloaded parent";

/** The parties of which one or two are killed, by the protections of the run. */
const DRAWN: readonly (readonly [Protections, readonly Party[]])[] = [
	[WATCHDOG, ["host", "watchdog", "worker"]],
	[GUARD, ["host", ...GUARDS, "worker"]],
	[BOTH, ["host", "watchdog", ...GUARDS, "worker"]],
	[ALONE, ["preloaded parent", "host", "worker"]],
	[BOTH, ["preloaded parent", "host", "watchdog", ...GUARDS, "worker"]],
];

export const protectionsKilled: readonly ChaosCase[] = DRAWN.flatMap(
	([protections, parties]) =>
		family(
			"one or two of the host, its protections, its preloaded parent and a worker are killed, together or one after the other",
			[protections],
			[
				{
					name: `drawn from ${parties.join(", ")}`,
					...(parties.length > 6 && { selected: BOTH }),
					round: (stage) => killSome(stage, parties),
				},
			],
		),
);

async function killSome(
	stage: Stage,
	parties: readonly Party[],
): Promise<RoundOutcome> {
	const isPreloaded = parties.includes("preloaded parent");
	const host = await stage.ready({
		size: SIZE,
		...(isPreloaded && { preload: { modules: ["numpy"] } }),
	});
	await stage.sees("worker", SIZE);
	const chosen = draw(stage, parties);
	const role = await growTree(stage, host, chosen, parties);
	const victims = await Promise.all(
		chosen.map((party) => processOf(host, party)),
	);
	const at = performance.now();
	for (const [n, victim] of victims.entries()) {
		if (n > 0 && stage.chance.fraction() < 0.5)
			await sleep(stage.chance.fraction() * APART_MS);
		end(victim);
	}
	const killed = `Killed: ${chosen.join(", then ")}.`;
	if (chosen.includes("host")) {
		const ending = await stage.untilGone(at);
		return { ...ending, broken: unless(!ending.leftovers, killed) };
	}
	// The host lives: what it lost ends, and is replaced. Then it is killed too.
	const clean = await stage.exits.until(
		() => stage.exits.living(role).length <= kept(chosen, role),
		5_000,
	);
	await host.call("pid", {}, 10);
	for (const protection of ["watchdog", "guard"])
		if (chosen.some((party) => party.endsWith(protection)))
			await host.fact<{ protection: string; restarts: number }>(
				"protection.started",
				(each) => each.protection === protection && each.restarts > 0,
			);
	const ending = await stage.untilGone(host.kill());
	return {
		...ending,
		broken: [
			...unless(!ending.leftovers, killed),
			...unless(clean, `Left while the host lived. ${killed}`),
		],
	};
}

/** How many descendants may stay while the host lives. */
function kept(chosen: readonly Party[], role: string): number {
	if (chosen.some((party) => party.endsWith("guard"))) return 0;
	// Nothing knows any more which worker started the daemon without an environment: it ends with the host.
	if (role === "forgotten") return SIZE;
	if (chosen.includes("preloaded parent")) return 0;
	return SIZE - Number(chosen.includes("worker"));
}

/** Leaves in every worker the descendant that is hardest to find for the parties that stay alive; returns its role. */
async function growTree(
	stage: Stage,
	host: HostProcess,
	chosen: readonly Party[],
	parties: readonly Party[],
): Promise<string> {
	const killed = (...all: readonly Party[]): boolean =>
		all.every((party) => chosen.includes(party) || !parties.includes(party));
	const isInGroup = !parties.includes("watchdog") || killed("host", "watchdog");
	const [role, ...others] = !killed(...GUARDS)
		? (["forgotten"] as const)
		: isInGroup
			? (["child", "ignores-sigterm"] as const)
			: (["daemon"] as const);
	await host.call("leave", { roles: [role, ...others] });
	await stage.sees(role, SIZE);
	return role;
}

/** One or two, in an order that is drawn, too. */
function draw(stage: Stage, parties: readonly Party[]): readonly Party[] {
	const first = stage.chance.pick(parties);
	const others = parties.filter((party) => party !== first);
	return stage.chance.fraction() < 0.3
		? [first]
		: [first, stage.chance.pick(others)];
}

async function processOf(
	host: HostProcess,
	party: Party,
): Promise<SeenProcess> {
	const [worker = 0] = await host.workers();
	const [parent] = host.facts<{ pid: number }>("preload.started");
	const of = (name: string): readonly SeenProcess[] =>
		host.layers.find(({ protection }) => protection === name)?.processes ?? [];
	const process = {
		host: look(host.pid),
		watchdog: of("watchdog")[0],
		"outer guard": of("guard")[0],
		"middle guard": of("guard")[1],
		"inner guard": of("guard")[2],
		worker: look(worker),
		"preloaded parent": look(parent?.pid ?? 0),
	}[party];
	if (!process) throw new Error(`There is no ${party}.`);
	return process;
}
