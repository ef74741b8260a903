import { execFileSync } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import type { Cluster } from "../../../../scripts/ray/cluster.ts";
import {
	hasClusterInCheck,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { toolsFile } from "../../../adapter-python/test/support/pythons.ts";
import type { RayPythonOptions } from "../../src/index.ts";
import { rayPool, START_MS } from "./ray-pool.ts";

const NODES = ["127.0.0.2", "127.0.0.3", "127.0.0.4"];

/** What no cluster has, and what `createPool` says to it. */
const REFUSED: {
	readonly what: string;
	readonly options: Partial<RayPythonOptions>;
	readonly code: string;
	readonly says: readonly string[];
}[] = [
	{
		what: "resources that no node has",
		options: { resources: { CPU: 1, custom: { TPU: 4 } } },
		code: "RESOURCES_UNAVAILABLE",
		says: [
			"a worker asks for 1 CPU, 4 TPU, and no node of the cluster has that in total",
			...NODES.map(
				(address) => `(${address}): CPU 1 free of 1, TPU 0 free of 0`,
			),
		],
	},
	{
		what: "a node that there is not",
		options: { placement: { node: "127.0.0.77" } },
		code: "RESOURCES_UNAVAILABLE",
		says: ["no living node 127.0.0.77", ...NODES],
	},
	{
		what: "an address without a cluster",
		options: { address: "127.0.0.2:1" },
		code: "CLUSTER_UNREACHABLE",
		says: ["the Ray cluster at 127.0.0.2:1 cannot be reached"],
	},
];

test.skipIf(!hasClusterInCheck).each(REFUSED)(
	`$what: createPool rejects with $code, and says what there is${needsCluster}`,
	{ timeout: START_MS },
	async ({ options, code, says }) => {
		const error = await rayPool(
			await sharedCluster(),
			toolsFile("bench.py"),
			{},
			options,
		).then(
			() => undefined,
			(error: Error) => error,
		);
		expect(error).toMatchObject({ code, ran: "no" });
		for (const words of says) expect(error?.message).toContain(words);
	},
);

test.skipIf(!hasClusterInCheck)(
	`a gateway that is killed costs its call COMPANION_LOST, and no restart of the budget; a worker of the next serves${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const { pool, events } = await rayPool(
			await sharedCluster(),
			toolsFile("bench.py"),
		);
		const lost = pool.execute("hang").catch((error) => error);
		const [gateway] = events.of("companion.started");
		process.kill(gateway?.pid ?? 0, "SIGKILL");
		expect(await lost).toMatchObject({ code: "COMPANION_LOST", ran: "maybe" });
		expect(await pool.execute("echo", { value: 1 })).toBe(1);
		expect(pool.statistics().restarts).toBe(0);
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "companion_lost" },
		]);
	},
);

/** What Ray compares at each connection: the releases that the head has recorded. Prints those before. */
const RECORD_RAY = `
import json, sys
from ray._raylet import GcsClient
from ray._common.usage.usage_lib import get_cluster_metadata
address, version = sys.argv[1:]
store = GcsClient(address=address)
recorded = get_cluster_metadata(store)
print(recorded["ray_version"])
recorded["ray_version"] = version
store.internal_kv_put(
    b"CLUSTER_METADATA", json.dumps(recorded).encode(), True, namespace=b"cluster"
)
`;

function recordRay({ options, address }: Cluster, version: string): string {
	const args = ["-c", RECORD_RAY, address, version];
	return execFileSync(options.python, args, { encoding: "utf8" }).trim();
}

test.skipIf(!hasClusterInCheck)(
	`a cluster whose head was started with another release of Ray: createPool rejects with VERSION_MISMATCH, both releases and what to install${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const cluster = await sharedCluster();
		const own = recordRay(cluster, "2.9.1");
		onTestFinished(() => void recordRay(cluster, own));
		const error: Error = await rayPool(cluster, toolsFile("bench.py")).then(
			() => new Error("it started"),
			(error) => error,
		);
		expect(error).toMatchObject({ code: "VERSION_MISMATCH", ran: "no" });
		expect(error.message).toMatch(
			new RegExp(`with:\\s+Ray: 2\\.9\\.1\\s[^]*with:\\s+Ray: ${own}\\s`),
		);
		expect(error.message).toContain(
			"with the release of Ray that the cluster runs",
		);
	},
);
