import type { ProcessIdentity } from "@snakepit/core/infrastructure";
import { RECYCLED_PATHS } from "../../programs/recycled-pids/paths.ts";
import {
	ALONE,
	type ChaosCase,
	family,
	GUARD,
	LAYERS,
	type RoundOutcome,
	unless,
} from "../case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import { enclosedRound, namespacesUnavailable } from "../harness/isolation.ts";
import { lives, type SeenProcess } from "../harness/process-table.ts";
import { openRunFile, rewriteDeadRun } from "../harness/run-files.ts";
import type { Stage } from "../harness/stage.ts";

/** Kills and starts in one round, drawn one after the other. */
const STEPS = 8;
const SIZE = 2;
/** Without a lifeline that would end them with their host. */
const SHELL = { worker: "shell", lifeline: "off" } as const;
const OTHER_BOOT = { bootId: "00000000-0000-4000-8000-000000000000" };
const OTHER_NAMESPACE = { pidNamespace: "1" };
const OTHER_MACHINE = { machineId: "0".repeat(32) };
/** Recycled in one round, at least: so many workers end together. */
const PIDS = 12;

export const nextStart: readonly ChaosCase[] = [
	...family("everything killed at once, then the next start", LAYERS, [
		{
			name: "4 shell workers and a daemon; the time is from the start of the program to the last end",
			rounds: 10,
			selected: 1,
			target: { maxMs: 2_000 },
			round: killEverything,
		},
	]),
	...family(
		"hosts on one ledger, killed and started at random",
		[ALONE, GUARD],
		[2, 5].map((hosts) => ({
			name: `${hosts} hosts, ${STEPS} kills or starts a round`,
			rounds: 6,
			round: (stage) => killAndStart(stage, hosts),
		})),
	),
	...family(
		"a ledger whose pids belong to other processes by now",
		[ALONE],
		[
			{
				name: "the kernel gives a worker's pid to a foreign process, in a private pid namespace",
				rounds: 20,
				parallel: 2,
				selected: 1,
				unavailable: namespacesUnavailable,
				round: (stage) => enclosedRound(stage, "reuse-a-pid", 1),
			},
			...[
				{
					name: "another process has the pid: the start time differs",
					startTime: false,
					elsewhere: {},
				},
				{
					name: "pid and start time belong to a foreign process of another boot",
					elsewhere: OTHER_BOOT,
				},
				{
					name: "pid and start time belong to a foreign process of another pid namespace",
					elsewhere: OTHER_NAMESPACE,
					spared: "other_pid_namespace",
				},
				{
					name: "pid and start time belong to a foreign process of another machine",
					elsewhere: OTHER_MACHINE,
					spared: "other_machine",
				},
			].map(({ name, ...record }) => ({
				name,
				rounds: 10,
				parallel: 2,
				round: (stage: Stage) => recordStranger(stage, record),
			})),
		],
	),
	...family(
		"pids of ours are recycled, and strangers have them before the signal",
		[ALONE],
		// A thousand recycled pids on each path. Most of a round is starting what ends.
		Object.entries(RECYCLED_PATHS).map(([path, name]) => ({
			name,
			rounds: 84,
			parallel: 2,
			selected: 1,
			unavailable: namespacesUnavailable,
			round: (stage) => enclosedRound(stage, path, PIDS),
		})),
	),
];

/** Host and protections are killed in one go; another host lives on in the same ledger. */
async function killEverything(stage: Stage): Promise<RoundOutcome> {
	await stage.bystander();
	const neighbour = await stage.ready({ ...SHELL, size: 1 });
	await stage.sees("worker", 1);
	const neighbours = neighbour.processes();
	const host = await stage.ready({ ...SHELL, size: 4 });
	await stage.sees("worker", 1 + 4);
	host.killWithItsProtections();
	await host.exited;
	const startedAt = performance.now();
	const next = await stage.ready({ ...SHELL, size: 1 });
	const ending = await stage.untilGone(startedAt, [
		...neighbours,
		...next.processes(),
	]);
	const killed = neighbours.filter((each) => !lives(each)).length;
	const exited = neighbour.facts("worker.exited").length;
	return { ...ending, wrongKills: stage.wrongKills + Math.max(killed, exited) };
}

/** Shell workers: the dead ones stay until a next start ends them, which is when a living one could be hit. */
async function killAndStart(stage: Stage, most: number): Promise<RoundOutcome> {
	interface Living {
		readonly host: HostProcess;
		readonly workers: readonly SeenProcess[];
	}
	const living: Living[] = [];
	let falseKills = 0;
	const lost = ({ host, workers }: Living): number =>
		Math.max(
			workers.filter((each) => !lives(each)).length,
			host.facts("worker.exited").length,
		);
	const start = async (): Promise<void> => {
		const host = await stage.ready({ ...SHELL, size: SIZE });
		living.push({ host, workers: host.processes() });
	};
	await Promise.all(Array.from({ length: most }, start));
	for (let step = 0; step < STEPS; step++) {
		const at = stage.chance.below(most);
		const chosen = living[at];
		if (chosen && (living.length === most || stage.chance.of(0.5))) {
			falseKills += lost(chosen);
			living.splice(at, 1);
			chosen.host.kill();
			await chosen.host.exited;
		} else await start();
	}
	// One more start, which cleans up after the last of the dead.
	await start();
	falseKills += living.map(lost).reduce((total, each) => total + each, 0);
	const except = living.flatMap(({ host }) => host.processes());
	const { leftovers } = await stage.untilGone(performance.now(), except);
	return { leftovers, falseKills };
}

/** The dead run records the pid of a bystander for its workers, and perhaps another place. */
async function recordStranger(
	stage: Stage,
	{
		startTime,
		elsewhere,
		spared,
	}: {
		readonly startTime?: boolean;
		readonly elsewhere: Partial<ProcessIdentity>;
		/** Why the next start reports that it spared the run. */
		readonly spared?: string;
	},
): Promise<RoundOutcome> {
	const { pid, startTicks } = await stage.bystander();
	const dead = await stage.ready({ ...SHELL, size: SIZE });
	await stage.killWithItsWorkers(dead);
	rewriteDeadRun(openRunFile(stage.dataDir), elsewhere, {
		...elsewhere,
		pid,
		...(startTime !== false && { startTime: startTicks }),
	});
	const next = await stage.ready({ size: 1, events: ["run.spared"] });
	const reasons = next
		.facts<{ reason: string }>("run.spared")
		.map(({ reason }) => reason);
	return {
		wrongKills: stage.wrongKills,
		broken: unless(
			spared === undefined || reasons.includes(spared),
			`The run was spared for ${reasons.join(", ") || "no reason"}.`,
		),
		...(await stage.killAfterwards(next)),
	};
}
