import type { Cluster } from "../../../scripts/ray/cluster.ts";
import type { ClusterNode } from "../../../scripts/ray/cluster-node.ts";
import {
	commandLine,
	everyProcess,
	type SeenProcess,
} from "../../src/harness/process-table.ts";

/** The processes of one worker on its node, and what it has started. */
export interface Chain {
	readonly node: ClusterNode;
	readonly actor: SeenProcess;
	readonly keeper: SeenProcess;
	readonly relay: SeenProcess;
	readonly worker: SeenProcess;
}

/** What the host has started on its own machine. */
export interface HostSide {
	readonly gateway: SeenProcess;
	readonly standIns: readonly SeenProcess[];
}

/** Finds a chain for each worker, before its tools have forked. */
export function chainsOf(cluster: Cluster): readonly Chain[] {
	const all = everyProcess();
	const parentOf = ({ parent }: SeenProcess): SeenProcess => {
		const found = all.find(({ pid }) => pid === parent);
		if (!found) throw new Error(`There is no process ${parent}.`);
		return found;
	};
	return all.filter(isBridge("worker")).map((worker) => {
		const relay = parentOf(worker);
		const keeper = parentOf(relay);
		const actor = parentOf(keeper);
		const node = cluster.nodes.find((each) =>
			each.processes().some(({ pid }) => pid === actor.pid),
		);
		if (!node) throw new Error(`No node has the actor ${actor.pid}.`);
		return { node, actor, keeper, relay, worker };
	});
}

/** Everything of a chain, with what the tools have started. */
export function allOf({ actor }: Chain): readonly SeenProcess[] {
	return [actor, ...descendantsOf(actor, everyProcess())];
}

export function hostSideOf(host: number): HostSide {
	const children = descendantsOf({ pid: host }, everyProcess());
	const [gateway] = children.filter(isBridge("gateway"));
	if (!gateway) throw new Error("The host has no gateway.");
	return { gateway, standIns: children.filter(isBridge("stand-in")) };
}

function isBridge(what: string): (process: SeenProcess) => boolean {
	return ({ pid }) => {
		const words = commandLine(pid);
		return words[words.indexOf("snakepit_bridge") + 1] === what;
	};
}

function descendantsOf(
	{ pid }: Pick<SeenProcess, "pid">,
	all: readonly SeenProcess[],
): readonly SeenProcess[] {
	const children = all.filter(({ parent }) => parent === pid);
	return children.flatMap((child) => [child, ...descendantsOf(child, all)]);
}
