// Runs a command beside a Ray cluster, in a network that has only loopback:
// node scripts/ray/inside.ts NODES COMMAND...
// Its environment has the cluster's RAY_ADDRESS, the interpreter SNAKEPIT_TEST_RAY_PYTHON, and
// SNAKEPIT_TEST_RAY_DISK, a directory that further nodes see as another one.
import { type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { Cluster } from "./cluster.ts";
import {
	isInside,
	NAMESPACE,
	namespaceEnv,
	namespaceUnavailable,
} from "./namespace.ts";
import { clusterPython } from "./python.ts";

const [nodes = "", ...command] = process.argv.slice(2);
const python = clusterPython();
const reason = namespaceUnavailable();
if (!/^[1-9]$/.test(nodes) || command.length === 0) {
	console.error("Usage: node scripts/ray/inside.ts NODES COMMAND...");
	process.exitCode = 2;
} else if (python === undefined || reason !== undefined) {
	console.error(`Not run: ${reason ?? "Ray could not be installed"}.`);
	process.exitCode = 3;
} else if (isInside()) {
	await using cluster = await Cluster.start({ python, nodes: Number(nodes) });
	process.exitCode = await run(command, {
		RAY_ADDRESS: cluster.address,
		SNAKEPIT_TEST_RAY_DISK: cluster.disk,
		SNAKEPIT_TEST_RAY_PYTHON: python,
	});
} else {
	const again = [process.execPath, import.meta.filename, nodes, ...command];
	process.exitCode = await run([...NAMESPACE, ...again], namespaceEnv());
}

async function run(
	[program = "", ...args]: readonly string[],
	env: Record<string, string>,
): Promise<number> {
	const options: SpawnOptions = {
		stdio: "inherit",
		env: { ...process.env, ...env },
	};
	const [status] = await once(spawn(program, args, options), "exit");
	return status ?? 1;
}
