import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { LinuxProc } from "../../../packages/core/src/os/linux-proc.ts";
import type { Cluster } from "../../../scripts/ray/cluster.ts";
import {
	hasCluster,
	needsCluster,
	ownCluster,
} from "../../../scripts/ray/test-cluster.ts";
import { isThorough } from "../../../scripts/test-effort.ts";

const PLAIN = `
import json, sys, os, ray
ray.init(address=sys.argv[1], logging_level="ERROR", log_to_driver=False)

@ray.remote
class Actor:
    def where(self, path):
        return [ray.util.get_node_ip_address(), os.path.exists(path)]

actors = [Actor.options(num_cpus=1, scheduling_strategy="SPREAD").remote() for _ in range(int(sys.argv[3]))]
print(json.dumps(ray.get([actor.where.remote(sys.argv[2]) for actor in actors], timeout=60)))
`;

test.runIf(hasCluster && isThorough())(
	`actors of plain Ray run on three nodes, of which only the head sees the disk of the host; one that is killed is gone at once, and all of them in the end${needsCluster}`,
	async () => {
		expect(Object.keys(networkInterfaces())).toEqual(["lo"]);
		const cluster = await ownCluster();
		const [head, second, third] = cluster.nodes;
		expect(head?.process("gcs_server").pid).toBeGreaterThan(1);
		expect(await whereActorsRun(cluster, 3)).toEqual([
			["127.0.0.2", true],
			["127.0.0.3", false],
			["127.0.0.4", false],
		]);
		const raylet = third?.process("raylet").pid ?? 0;
		await second?.kill();
		expect(second?.processes()).toEqual([]);
		expect(new LinuxProc().entry(raylet)).toMatchObject({ name: "raylet" });
		const pids = cluster.nodes.flatMap((node) =>
			node.processes().map(({ pid }) => pid),
		);
		expect(pids.length).toBeGreaterThan(5);
		await cluster[Symbol.asyncDispose]();
		const table = new LinuxProc();
		expect(pids.filter((pid) => table.entry(pid) !== "gone")).toEqual([]);
	},
);

async function whereActorsRun(
	{ address, disk, options }: Cluster,
	actors: number,
): Promise<unknown[]> {
	mkdirSync(join(disk, "host"));
	const words = ["-c", PLAIN, address, `${disk}/host`, String(actors)];
	const child = spawn(options.python, words, {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const [printed] = await Promise.all([
		text(child.stdout),
		once(child, "close"),
	]);
	return JSON.parse(printed).sort();
}
