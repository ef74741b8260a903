// Rounds with a Ray cluster: reads a scene from each line of standard input, and prints its outcome.
import { createInterface } from "node:readline";
import { Cluster } from "../../../scripts/ray/cluster.ts";
import { clusterPython } from "../../../scripts/ray/python.ts";
import type { RoundOutcome } from "../../src/case.ts";
import type { ClusterScene } from "../../src/cluster-scene.ts";
import { Stage } from "../../src/harness/stage.ts";
import { damagesTheCluster, play } from "./play.ts";

const NODES = 3;
let cluster: Cluster | undefined;
let rounds = 0;

for await (const line of createInterface({ input: process.stdin })) {
	const scene: ClusterScene = JSON.parse(line);
	const outcome = await round(scene).catch(
		(error: Error): RoundOutcome => ({
			broken: [`The round failed: ${error.message}`],
		}),
	);
	console.log(JSON.stringify(outcome));
}
await cluster?.[Symbol.asyncDispose]();

async function round(scene: ClusterScene): Promise<RoundOutcome> {
	const python = clusterPython();
	if (python === undefined) throw new Error("Ray could not be installed.");
	cluster ??= await Cluster.start({ python, nodes: NODES });
	try {
		await using stage = await Stage.open(rounds++, []);
		return await play(scene, stage, cluster);
	} finally {
		if (damagesTheCluster(scene)) {
			const damaged = cluster;
			cluster = undefined;
			await damaged[Symbol.asyncDispose]();
		}
	}
}
