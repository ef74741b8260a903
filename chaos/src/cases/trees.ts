import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { Stage } from "../harness/stage.ts";
import { BOTH, GUARD, LAYERS, WATCHDOG, withLayers } from "./layers.ts";

const ROW = "SIGKILL of the host of workers with descendants";
const SIZE = 2;

/** A tool that leaves descendants, and what the witness sees of them. */
interface Tree {
	readonly name: string;
	readonly tool: string;
	readonly roles: readonly string[];
	/** Without these nothing is promised. */
	readonly keptWith: readonly (readonly string[])[];
	readonly selectedWith?: readonly string[];
}

const TREES: readonly Tree[] = [
	{
		name: "a child, and one that ignores SIGTERM",
		tool: "with_children",
		roles: ["child", "ignores-sigterm"],
		keptWith: LAYERS,
	},
	{
		name: "a loop that forks",
		tool: "with_a_fork_loop",
		roles: ["fork-loop"],
		keptWith: LAYERS,
	},
	{
		name: "a daemon in a session of its own",
		tool: "with_a_daemon",
		roles: ["daemon"],
		keptWith: [WATCHDOG, GUARD, BOTH],
		selectedWith: WATCHDOG,
	},
	{
		name: "a loop that forks, each child in a session of its own",
		tool: "with_a_fork_loop_in_sessions",
		roles: ["session-fork-loop"],
		keptWith: [WATCHDOG, GUARD, BOTH],
	},
	{
		name: "a daemon, forked twice, with an empty environment",
		tool: "with_a_forgotten_daemon",
		roles: ["forgotten"],
		keptWith: [GUARD, BOTH],
		selectedWith: GUARD,
	},
];

export const trees: readonly ChaosCase[] = TREES.flatMap(
	({ name, tool, roles, keptWith, selectedWith }) =>
		LAYERS.map((protections) => {
			const kept = keptWith.includes(protections);
			return withLayers(protections, {
				row: ROW,
				name,
				promise: kept ? "kept" : "none",
				rounds: kept ? 10 : 2,
				...(protections === selectedWith ? { selected: 1 } : {}),
				target: { p99Ms: 250 },
				round: (stage) => killAboveTree(stage, tool, roles),
			});
		}),
);

async function killAboveTree(
	stage: Stage,
	tool: string,
	roles: readonly string[],
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: SIZE });
	await host.call(tool);
	for (const role of roles) await stage.sees(role, SIZE);
	return await stage.untilGone(host.kill());
}
