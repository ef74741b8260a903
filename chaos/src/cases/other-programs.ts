import type { WorkerKind } from "../../programs/orders.ts";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { Stage } from "../harness/stage.ts";
import { ALONE, LAYERS, WATCHDOG, withLayers } from "./layers.ts";

const SIZE = 4;
const KINDS: readonly WorkerKind[] = ["shell", "node"];

/** Workers that know nothing of Snakepit, and mind neither SIGTERM nor the end of their input. */
export const otherPrograms: readonly ChaosCase[] = KINDS.flatMap((worker) =>
	LAYERS.flatMap((protections) => [
		withLayers(protections, {
			row: "SIGKILL of the host of workers that are not Python",
			name: `4 ${worker} workers`,
			promise: protections === ALONE ? "none" : "kept",
			rounds: protections === ALONE ? 2 : 10,
			...(worker === "shell" && protections === WATCHDOG
				? { selected: 1 }
				: {}),
			target: { p99Ms: 250 },
			round: (stage) => killHostOf(stage, worker),
		}),
		withLayers(protections, {
			row: "SIGKILL of the host of workers that are not Python",
			name: `4 ${worker} workers, each with every kind of descendant`,
			promise: protections.includes("guard") ? "kept" : "none",
			rounds: protections.includes("guard") ? 10 : 2,
			target: { p99Ms: 250 },
			round: (stage) => killHostOf(stage, worker, "with_children"),
		}),
	]),
);

async function killHostOf(
	stage: Stage,
	worker: WorkerKind,
	command?: string,
): Promise<RoundOutcome> {
	const host = await stage.ready({ worker, size: SIZE });
	await stage.sees("worker", SIZE);
	if (command) {
		await host.call(command);
		for (const role of ["child", "ignores-sigterm", "daemon", "forgotten"])
			await stage.sees(role, SIZE);
	}
	return await stage.untilGone(host.kill());
}
