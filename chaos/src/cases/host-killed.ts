import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { Stage, StageOrders } from "../harness/stage.ts";
import { ALONE, BOTH, LAYERS, withLayers } from "./layers.ts";

const ROW = "SIGKILL of the host";
const SIZE = 4;
const KERNEL =
	"the kernel frees the memory of the host, then that of the workers, before anything of them is closed: see the limit";

/** What the workers do when their host is killed. */
interface Occupation {
	readonly name: string;
	/** A tool that is called on every worker and does not come back. */
	readonly begins?: string;
	readonly selected?: number;
}

export const OCCUPATIONS: readonly Occupation[] = [
	{ name: "4 workers idle" },
	{ name: "4 workers busy", begins: "busy_loop" },
	{
		name: "4 workers hold Python's lock in C",
		begins: "hold_the_gil",
		selected: 1,
	},
	{ name: "4 workers stopped", begins: "stop_itself" },
];

export const hostKilled: readonly ChaosCase[] = [
	...LAYERS.flatMap((protections) =>
		OCCUPATIONS.map(({ name, begins, selected }) =>
			withLayers(protections, {
				row: ROW,
				name,
				rounds: protections === ALONE ? 40 : 10,
				...(protections === ALONE && selected ? { selected } : {}),
				target: { p50Ms: 10, p99Ms: 100, reason: KERNEL },
				round: (stage) => killHost(stage, { size: SIZE }, begins),
			}),
		),
	),
	...[ALONE, BOTH].flatMap((protections) =>
		[50, 100].map((size) =>
			withLayers(protections, {
				row: ROW,
				name: `${size} workers idle`,
				rounds: 3,
				timed: true,
				round: (stage) => killHost(stage, { size }),
			}),
		),
	),
];

/** The time of the kill against the memory of the host, which the kernel frees first. */
export const hostMemory: readonly ChaosCase[] = [100, 500, 1_000, 2_000].map(
	(ballastMb) =>
		withLayers(ALONE, {
			row: "SIGKILL of a host with much memory",
			name: `4 workers idle, the host holds ${ballastMb} MB more`,
			rounds: 5,
			timed: true,
			round: (stage) => killHost(stage, { size: SIZE, ballastMb }),
		}),
);

export async function killHost(
	stage: Stage,
	orders: StageOrders & { readonly size: number },
	begins?: string,
): Promise<RoundOutcome> {
	const host = await stage.ready(orders);
	await stage.sees("worker", orders.size);
	if (begins) {
		host.begin(begins);
		await stage.sees("begun", orders.size);
	}
	return await stage.untilGone(host.kill());
}
