import type { WorkerKind } from "../../programs/orders.ts";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import { lives } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";
import { processesOf } from "../harness/stage-processes.ts";
import { ALONE, LAYERS, withLayers } from "./layers.ts";

const SIZE = 4;

/** Host and protections are killed in one go; another host lives on in the same ledger. */
export const nextStart: readonly ChaosCase[] = LAYERS.map((protections) =>
	withLayers(protections, {
		row: "everything killed at once, then the next start",
		name: "4 shell workers and a daemon; the time is from the start of the program to the last end",
		rounds: 10,
		...(protections === ALONE ? { selected: 1 } : {}),
		target: { maxMs: 2_000 },
		round: (stage) => killEverything(stage, "shell"),
	}),
);

async function killEverything(
	stage: Stage,
	worker: WorkerKind,
): Promise<RoundOutcome> {
	await stage.bystander();
	const neighbour = await stage.ready({ worker, size: 1 });
	await stage.sees("worker", 1);
	const neighbours = processesOf(neighbour);
	const host = await stage.ready({ worker, size: SIZE });
	await stage.sees("worker", 1 + SIZE);
	host.killWithItsProtections();
	await host.exited;
	const startedAt = performance.now();
	const next = stage.start({ worker, size: 1 });
	await next.told("ready");
	const ending = await stage.untilGone(startedAt, [
		...neighbours,
		...processesOf(next),
	]);
	const killed = neighbours.filter((each) => !lives(each)).length;
	const exited = neighbour.all("worker.exited").length;
	return { ...ending, wrongKills: stage.wrongKills + Math.max(killed, exited) };
}
