import { spawnSync } from "node:child_process";
import { namespaceUnavailable } from "../../../scripts/ray/namespace.ts";
import { clusterPython } from "../../../scripts/ray/python.ts";
import { type ChaosCase, type Entry, family, GUARD } from "../case.ts";
import type { ClusterScene, Party } from "../cluster-scene.ts";
import { clusterRound } from "../harness/cluster-rounds.ts";

const ROUNDS = 3;

export const rayCluster: readonly ChaosCase[] = [
	...family(
		"workers on a Ray cluster: SIGKILL",
		[GUARD],
		[
			{ ...killed(["host"], "all workers", false), selected: 1 },
			killed(["gateway"], "all workers"),
			killed(["stand-in"], "one worker"),
			killed(["actor"], "one worker"),
			killed(["keeper"], "one worker"),
			killed(["relay"], "one worker"),
			killed(["worker"], "one worker"),
			killed(["raylet"], "one worker"),
			killed(["control store"], "nothing", false),
			killed(["control store", "host"], "all workers", false),
			killed(["control store", "gateway"], "all workers", false),
			killed(["gateway", "actor", "keeper"], "all workers"),
		],
	),
	...family(
		"workers on a Ray cluster: SIGSTOP, then SIGKILL of the host",
		[GUARD],
		[
			stopped("host", false),
			stopped("gateway"),
			stopped("stand-in"),
			stopped("actor"),
			stopped("keeper"),
			stopped("relay", false),
			stopped("worker", false),
			stopped("raylet"),
			stopped("control store"),
		],
	),
	...family(
		"workers on a Ray cluster: a node is cut off, then SIGKILL of the host",
		[GUARD],
		[
			cutOff("the other nodes", true),
			cutOff("the other nodes and the control store", false),
		],
	),
];

function killed(
	parties: readonly Party[],
	ends: "all workers" | "one worker" | "nothing",
	heals = true,
): Entry {
	return entry(`${parties.join(", then ")} killed`, {
		fault: "killed",
		parties,
		ends,
		heals,
	});
}

function stopped(party: Party, serves = true): Entry {
	return entry(`${party} stopped`, { fault: "stopped", party, serves });
}

function cutOff(
	from: (ClusterScene & { fault: "cut off" })["from"],
	heals: boolean,
): Entry {
	return {
		...entry(`from ${from}`, { fault: "cut off", from, heals }),
		unavailable: () => whyNoFilter() ?? whyNoCluster(),
	};
}

function entry(name: string, scene: ClusterScene): Entry {
	return {
		name,
		rounds: ROUNDS,
		unavailable: whyNoCluster,
		round: () => clusterRound(scene),
	};
}

function whyNoFilter(): string | undefined {
	const { error } = spawnSync("nft", ["--version"]);
	return error && `no packet filter here: ${error.message}`;
}

function whyNoCluster(): string | undefined {
	return (
		namespaceUnavailable() ??
		(clusterPython() === undefined ? "Ray could not be installed" : undefined)
	);
}
