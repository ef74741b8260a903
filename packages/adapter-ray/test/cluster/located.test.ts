import type { RunId } from "@snakepit/core/infrastructure";
import { readHistory } from "@snakepit/core/inspect";
import { expect, test } from "vitest";
import {
	hasClusterInCheck,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { toolsFile } from "../../../adapter-python/test/support/pythons.ts";
import { craftRun, deadOwner } from "../../../core/test/cleanup/crafted-run.ts";
import { temporaryDirectory } from "../../../core/test/cleanup/hosts.ts";
import { rayPool, START_MS } from "./ray-pool.ts";

test.skipIf(!hasClusterInCheck)(
	`of a run of another machine the cluster says where its host is, and whether it lives${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const cluster = await sharedCluster();
		const tools = toolsFile("bench.py");
		const other = await rayPool(cluster, tools);
		const history = readHistory({ dataDir: other.dataDir });
		const [{ runId } = { runId: "none" as RunId }] =
			await Array.fromAsync(history);
		// A directory that two machines share, as this one sees it.
		const owner = deadOwner({ machineId: "another" });
		const located = async () => {
			const dataDir = temporaryDirectory();
			await craftRun(dataDir, owner, { runId });
			await craftRun(dataDir, { ...owner, pid: owner.pid - 1 });
			const { pool, events } = await rayPool(cluster, tools, { dataDir });
			await pool.close({ drainMs: 0 });
			expect(events.of("run.spared")).toHaveLength(2);
			return events.of("run.located").map(({ wallMs: _, ...said }) => said);
		};
		const location = { name: expect.any(String), address: "127.0.0.2" };
		const said = { type: "run.located", ofRun: runId, location };
		expect(await located()).toEqual([{ ...said, owner: "alive" }]);
		await other.pool.close({ drainMs: 0 });
		expect(await located()).toEqual([{ ...said, owner: "gone" }]);
	},
);
