import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessIdentity } from "@snakepit/core/infrastructure";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import { openRunFiles, rewriteDeadRun } from "../harness/dead-run.ts";
import {
	namespacesUnavailable,
	roundInPidNamespace,
} from "../harness/enclosed.ts";
import { look, type SeenProcess } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";
import { ALONE, withLayers } from "./layers.ts";

const ROW = "a ledger that speaks of processes which are others now";
const SIZE = 2;

/** What the dead run says of its owner and its workers, where a bystander has their pid. */
interface Tale {
	readonly name: string;
	readonly of: (bystander: SeenProcess) => {
		readonly owner?: Partial<ProcessIdentity>;
		readonly workers: Partial<ProcessIdentity>;
	};
	/** What the next start says of that run. */
	readonly spared?: string;
}

const exactly = ({ pid, startTicks }: SeenProcess) => ({
	pid,
	startTime: startTicks,
});
const OTHER_BOOT = { bootId: "00000000-0000-4000-8000-000000000000" };
const OTHER_NAMESPACE = { pidNamespace: "1" };
const OTHER_MACHINE = { machineId: "0".repeat(32) };

const TALES: readonly Tale[] = [
	{
		name: "another process has the pid: the start time differs",
		of: ({ pid }) => ({ workers: { pid } }),
	},
	{
		name: "pid and start time are a stranger's, of another boot",
		of: (stranger) => ({
			owner: OTHER_BOOT,
			workers: { ...exactly(stranger), ...OTHER_BOOT },
		}),
	},
	{
		name: "pid and start time are a stranger's, of another pid namespace",
		of: (stranger) => ({
			owner: OTHER_NAMESPACE,
			workers: { ...exactly(stranger), ...OTHER_NAMESPACE },
		}),
		spared: "other_pid_namespace",
	},
	{
		name: "pid and start time are a stranger's, of another machine",
		of: (stranger) => ({
			owner: OTHER_MACHINE,
			workers: { ...exactly(stranger), ...OTHER_MACHINE },
		}),
		spared: "other_machine",
	},
];

export const identities: readonly ChaosCase[] = [
	withLayers(ALONE, {
		row: ROW,
		name: "the kernel gives a worker's pid to a stranger, in a private pid namespace",
		rounds: 20,
		parallel: 2,
		selected: 1,
		unavailable: namespacesUnavailable,
		round: (stage) => roundInPidNamespace(stage, "reuse-a-pid"),
	}),
	...TALES.map((tale) =>
		withLayers(ALONE, {
			row: ROW,
			name: tale.name,
			rounds: 10,
			parallel: 2,
			round: (stage) => tellTale(stage, tale),
		}),
	),
];

async function tellTale(stage: Stage, tale: Tale): Promise<RoundOutcome> {
	const bystander = await stage.bystander();
	const dead = await stage.ready({ worker: "shell", size: SIZE });
	await stage.killWithItsWorkers(dead);
	const [file] = openRunFiles(stage.dataDir);
	if (file === undefined) throw new Error("The dead host left no run.");
	const { owner = {}, workers } = tale.of(bystander);
	rewriteDeadRun(file, owner, workers);
	const next = await stage.ready({ size: 1, events: ["run.spared"] });
	const spared = next
		.all<{ reason: string }>("run.spared")
		.map(({ reason }) => reason);
	const heard = tale.spared === undefined || spared.includes(tale.spared);
	return {
		wrongKills: stage.wrongKills,
		broken: heard
			? []
			: [`It said ${spared.join(", ") || "nothing"} of the run.`],
		...(await stage.killAfterwards(next)),
	};
}

/** A round inside of a pid namespace: the next process gets the pid of a worker that is gone. */
export async function reuseAPid(stage: Stage): Promise<RoundOutcome> {
	const dead = await stage.ready({ worker: "shell", size: SIZE });
	const [pid = 0] = await dead.told<readonly number[]>("ready");
	await stage.killWithItsWorkers(dead);
	// Its pid is free when it was collected.
	while (look(pid)) await sleep(2);
	const stranger = await stage.bystander(pid);
	if (stranger.pid !== pid)
		throw new Error(`The stranger got ${stranger.pid} instead of ${pid}.`);
	const next = await stage.ready({ size: 1 });
	const report = await next.told<{ deadRuns: number }>("cleanup.finished");
	return {
		wrongKills: stage.wrongKills,
		broken:
			report.deadRuns === 1 ? [] : [`It found ${report.deadRuns} dead runs.`],
		...(await stage.killAfterwards(next)),
	};
}
