import { adapterContract, startForReal } from "@snakepit/core/testing";
import { beforeAll, describe, test } from "vitest";
import type { Cluster } from "../../../../scripts/ray/cluster.ts";
import {
	hasClusterInCheck,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { BLOCKING } from "../../../adapter-python/test/support/contract-commands.ts";
import { toolsFile } from "../../../adapter-python/test/support/pythons.ts";
import { rayPython } from "../../src/index.ts";
import { START_MS } from "./ray-pool.ts";

describe.skipIf(!hasClusterInCheck)(
	`workers on a cluster keep the adapter contract${needsCluster}`,
	() => {
		let cluster: Cluster;
		beforeAll(async () => {
			cluster = await sharedCluster();
		}, START_MS);
		const cases = adapterContract({
			adapter: () =>
				rayPython({
					python: cluster.options.python,
					address: cluster.address,
					tools: toolsFile("bench.py"),
				}),
			start: (adapter) =>
				startForReal(adapter, { start: { timeoutMs: START_MS } }),
			commands: BLOCKING,
			withinMs: 60_000,
		});
		test.each(cases)("$title", { timeout: START_MS }, ({ run }) => run());
	},
);
