import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import { end, look, type SeenProcess } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";
import { BOTH, GUARD, WATCHDOG, withLayers } from "./layers.ts";

const SIZE = 2;
/** How far two kills are apart at most: the second falls into what the first one set off. */
const APART_MS = 30;

type Party =
	| "host"
	| "watchdog"
	| "outer guard"
	| "middle guard"
	| "inner guard"
	| "worker";

const GUARDS: readonly Party[] = ["outer guard", "middle guard", "inner guard"];

const ROW =
	"one or two of host, watchdog, guard and worker are killed, together or one after the other";

export const layersKilled: readonly ChaosCase[] = [
	withLayers(WATCHDOG, sketch(["host", "watchdog", "worker"])),
	withLayers(GUARD, sketch(["host", ...GUARDS, "worker"])),
	withLayers(BOTH, {
		...sketch(["host", "watchdog", ...GUARDS, "worker"]),
		rounds: 60,
		selected: 2,
	}),
	...[WATCHDOG, GUARD].map((protections) =>
		withLayers(protections, {
			row: ROW,
			name: "a worker alone: its daemon, which cleared its environment, while the host lives",
			promise: "none",
			rounds: 3,
			round: killOneWorker,
		}),
	),
];

function sketch(parties: readonly Party[]) {
	return {
		row: ROW,
		name: `drawn from ${parties.join(", ")}`,
		rounds: 20,
		target: { maxMs: 1_000 },
		// What it promises is far from what another case beside it adds.
		timed: false,
		round: (stage: Stage) => killSome(stage, parties),
	};
}

async function killSome(
	stage: Stage,
	parties: readonly Party[],
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: SIZE });
	const chosen = draw(stage, parties);
	const role = await growTree(stage, host, chosen, parties);
	const [pid = 0] = await host.told<readonly number[]>("ready");
	const [first, second] = chosen.map((party) => find(host, party, pid));
	const apartMs =
		stage.random.fraction() < 0.5 ? 0 : stage.random.fraction() * APART_MS;
	const at = performance.now();
	if (first) end(first);
	if (second) {
		if (apartMs > 0) await sleep(apartMs);
		end(second);
	}
	if (chosen.includes("host")) return await told(stage, at, chosen);
	// The host lives: what it lost goes, and is replaced. Then it is killed too.
	const kept = chosen.some((party) => party.endsWith("guard"))
		? 0
		: // Whose daemon it was, nobody knows any more: it ends with the host.
			SIZE - Number(chosen.includes("worker") && role !== "forgotten");
	const clean = await stage.witness.until(
		() => stage.witness.living(role).length <= kept,
		5_000,
	);
	await host.call("pid", {}, 10);
	for (const protection of ["watchdog", "guard"])
		if (chosen.some((party) => party.endsWith(protection)))
			await host.told<{ protection: string; restarts: number }>(
				"protection.started",
				60_000,
				(each) => each.protection === protection && each.restarts > 0,
			);
	const outcome = await told(stage, host.kill(), chosen);
	return clean
		? outcome
		: {
				...outcome,
				broken: [
					`Left while the host lived, killed: ${chosen.join(", then ")}.`,
				],
			};
}

async function killOneWorker(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({ size: 1 });
	await host.call("with_a_forgotten_daemon");
	await stage.sees("forgotten", 1);
	const [pid = 0] = await host.told<readonly number[]>("ready");
	process.kill(pid, "SIGKILL");
	await host.told("worker.exited");
	const daemon = (): number => stage.witness.living("forgotten").length;
	await stage.witness.until(() => daemon() === 0, 3_000);
	return { leftovers: daemon() };
}

/**
 * Leaves in every worker the worst descendant that somebody who stays alive can
 * know of; says which role to look for.
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
		? ["with_a_forgotten_daemon", "forgotten"]
		: killed("host", "watchdog")
			? ["with_children", "child"]
			: ["with_a_daemon", "daemon"];
	await host.call(tool as string);
	await stage.sees(role as string, SIZE);
	return role as string;
}

/** Says of leftovers who was killed. */
async function told(
	stage: Stage,
	sinceMs: number,
	killed: readonly Party[],
): Promise<RoundOutcome> {
	const ending = await stage.untilGone(sinceMs);
	return ending.leftovers === 0
		? ending
		: {
				...ending,
				broken: [`Killed: ${killed.join(", then ")}.`],
			};
}

function draw(stage: Stage, parties: readonly Party[]): readonly Party[] {
	const left = [...parties];
	const take = (): Party =>
		left.splice(Math.floor(stage.random.fraction() * left.length), 1)[0] ??
		"host";
	const first = take();
	return stage.random.fraction() < 0.3 ? [first] : [first, take()];
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
