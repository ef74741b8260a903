// Runs a command beside a Ray cluster, in a network that has only loopback:
// node scripts/ray/inside.ts NODES COMMAND...
// Its environment has the cluster's RAY_ADDRESS, the interpreter SNAKEPIT_TEST_RAY_PYTHON, and
// SNAKEPIT_TEST_RAY_DISK, a directory that further nodes see as another one.
import { spawnSync } from "node:child_process";
import { Cluster } from "./cluster.ts";
import { isInside, runInside } from "./namespace.ts";
import { clusterPython, clusterUnavailable } from "./python.ts";

const [nodes = "", program = "", ...args] = process.argv.slice(2);
const reason = clusterUnavailable();
const python = clusterPython() ?? "";
if (!/^[1-9]$/.test(nodes) || program === "") {
	console.error("Usage: node scripts/ray/inside.ts NODES COMMAND...");
	process.exitCode = 2;
} else if (reason !== undefined) {
	console.error(`Not run: ${reason}.`);
	process.exitCode = 3;
} else if (isInside()) {
	await using cluster = await Cluster.start({ python, nodes: Number(nodes) });
	const { status } = spawnSync(program, args, {
		stdio: "inherit",
		env: {
			...process.env,
			RAY_ADDRESS: cluster.address,
			SNAKEPIT_TEST_RAY_DISK: cluster.disk,
			SNAKEPIT_TEST_RAY_PYTHON: python,
		},
	});
	process.exitCode = status ?? 1;
} else process.exitCode = runInside();
