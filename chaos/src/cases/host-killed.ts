import type { ProtectionName } from "../../programs/orders.ts";
import type { ChaosCase } from "../harness/chaos-case.ts";
import { protectionsUnavailable } from "../harness/protections.ts";
import type { Stage, StageOrders } from "../harness/stage.ts";

const ROW = "SIGKILL of the host";
const SIZE = 4;

/** What the workers do when their host is killed. */
interface Occupation {
	readonly name: string;
	/** A tool that is called on every worker and does not come back. */
	readonly begins?: string;
}

const OCCUPATIONS: readonly Occupation[] = [
	{ name: "4 workers idle" },
	{ name: "4 workers busy", begins: "busy_loop" },
	{ name: "4 workers hold Python's lock in C", begins: "hold_the_gil" },
	{ name: "4 workers stopped", begins: "stop_itself" },
];

const LAYERS: readonly (readonly ProtectionName[])[] = [
	[],
	["watchdog"],
	["guard"],
	["watchdog", "guard"],
];

export const hostKilled: readonly ChaosCase[] = [
	...LAYERS.flatMap((protections) =>
		OCCUPATIONS.map(
			({ name, begins }, at): ChaosCase => ({
				row: ROW,
				name,
				protections,
				promise: "kept",
				rounds: protections.length === 0 ? 100 : 30,
				...(protections.length === 0 && at === 2 ? { selected: 2 } : {}),
				target: { p50Ms: 10, p99Ms: 100 },
				unavailable: () => protectionsUnavailable(protections),
				round: (stage) => killHost(stage, { size: SIZE }, begins),
			}),
		),
	),
	...[50, 100].map(
		(size): ChaosCase => ({
			row: ROW,
			name: `${size} workers idle`,
			protections: [],
			promise: "kept",
			rounds: 3,
			round: (stage) => killHost(stage, { size }),
		}),
	),
];

async function killHost(
	stage: Stage,
	orders: StageOrders & { readonly size: number },
	begins?: string,
) {
	const host = await stage.ready(orders);
	await stage.sees("worker", orders.size);
	if (begins) {
		host.begin(begins);
		await stage.sees("begun", orders.size);
	}
	return await stage.untilGone(host.kill());
}
