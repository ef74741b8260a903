import { expect, test } from "vitest";
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
