import { expect, onTestFinished, test } from "vitest";
import {
	hasClusterInCheck,
	needsCluster,
} from "../../../scripts/ray/test-cluster.ts";
import { runCase } from "../../src/case.ts";
import { endCluster, rayCluster } from "../../src/families/ray.ts";
import { summarize } from "../../src/report.ts";

const [hostKilled] = rayCluster;

test.skipIf(!hasClusterInCheck)(
	`SIGKILL of the host leaves nothing on any node, daemons included${needsCluster}`,
	{ timeout: 300_000 },
	async () => {
		if (hostKilled === undefined) throw new TypeError("There is no case.");
		onTestFinished(endCluster);
		const outcomes = await runCase(hostKilled, { rounds: 1, seed: 1 });
		expect(summarize(hostKilled, outcomes)).toMatchObject({
			...{ verdict: "kept", leftovers: 0, broken: [] },
		});
	},
);
