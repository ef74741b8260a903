import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import { lives, type SeenProcess } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";
import { processesOf } from "../harness/stage-processes.ts";
import { ALONE, BOTH, withLayers } from "./layers.ts";

/** Kills and starts in one round, drawn one after the other. */
const STEPS = 8;
const SIZE = 2;

interface Living {
	readonly host: HostProcess;
	readonly workers: readonly SeenProcess[];
}

export const manyHosts: readonly ChaosCase[] = [ALONE, BOTH].flatMap(
	(protections) =>
		[2, 5].map((hosts) =>
			withLayers(protections, {
				row: "hosts on one ledger, killed and started at random",
				name: `${hosts} hosts, ${STEPS} kills or starts a round`,
				rounds: 6,
				round: (stage) => killAndStart(stage, hosts),
			}),
		),
);

/** Shell workers: the dead ones stay until a next start ends them, which is when a living one could be hit. */
async function killAndStart(stage: Stage, most: number): Promise<RoundOutcome> {
	const living: Living[] = [];
	let falseKills = 0;
	const lost = ({ host, workers }: Living): number =>
		Math.max(
			workers.filter((each) => !lives(each)).length,
			host.all("worker.exited").length,
		);
	const start = async (): Promise<void> => {
		const host = await stage.ready({ worker: "shell", size: SIZE });
		living.push({ host, workers: processesOf(host) });
	};
	await Promise.all(Array.from({ length: most }, start));
	for (let step = 0; step < STEPS; step++) {
		const at = Math.floor(stage.random.fraction() * most);
		const chosen = living[at];
		if (chosen && (living.length === most || stage.random.fraction() < 0.5)) {
			falseKills += lost(chosen);
			living.splice(at, 1);
			chosen.host.kill();
			await chosen.host.exited;
		} else await start();
	}
	// One more start, so that the last of the dead are cleaned up after.
	await start();
	falseKills += living.map(lost).reduce((total, each) => total + each, 0);
	const except = living.flatMap(({ host }) => processesOf(host));
	const { leftovers } = await stage.untilGone(performance.now(), except);
	return { leftovers, falseKills };
}
