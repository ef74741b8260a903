import {
	adapterContract,
	type ContractCommands,
	startForReal,
} from "@snakepit/core/testing";
import { beforeAll, describe, test } from "vitest";
import type { Cluster } from "../../../../scripts/ray/cluster.ts";
import {
	hasClusterInCheck,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { toolsFile } from "../../../adapter-python/test/support/pythons.ts";
import { rayPython } from "../../src/index.ts";
import { START_MS } from "./ray-pool.ts";

const commands: ContractCommands = {
	echo: { command: "echo", args: { value: [1, "x"] }, result: [1, "x"] },
	hang: { command: "hang", args: {} },
	silent: { command: "silent", args: {} },
	fail: { command: "fail", args: {} },
	count: {
		command: "count_and_total",
		args: { below: 3 },
		items: [0, 1, 2],
		result: { total: 3 },
	},
	report: {
		command: "report",
		args: {},
		reports: [
			{ fraction: 0.5, message: "half" },
			{ fraction: undefined, message: "" },
			{ fraction: 1, message: "whole" },
		],
		result: "reported",
	},
	strayLine: { command: "say", args: { text: "aloud" }, result: "aloud" },
	leaveSlowly: { command: "linger", args: { seconds: 0.3 } },
	endless: {
		command: "endless",
		args: {},
		window: (64 * 1024) / 256,
		produced: async ({ execute }) => Number(await execute("how_many_produced")),
	},
};

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
			commands,
			withinMs: 60_000,
		});
		test.each(cases)("$title", { timeout: START_MS }, ({ run }) => run());
	},
);
