import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { rayPython } from "@snakepit/adapter-ray";
import { type Pool, withPool } from "@snakepit/core";
import { Cluster } from "../../../scripts/ray/cluster.ts";
import {
	isInside,
	NAMESPACE,
	namespaceEnv,
	namespaceUnavailable,
} from "../../../scripts/ray/namespace.ts";
import { clusterPython } from "../../../scripts/ray/python.ts";
import {
	count,
	counted,
	printAnswers,
	printFact,
	readDigits,
} from "./digits.ts";
import type { Tools } from "./gen/digits.ts";
import { listProcesses } from "./processes.ts";

const NODES = 3;

/**
 * Reads the digits with a worker on each of three nodes, of which one loses its power half way.
 * Returns the exit code.
 */
export async function readOnCluster(): Promise<number> {
	const reason = namespaceUnavailable();
	if (reason !== undefined) {
		console.log(`not run, because Ray listens on all interfaces: ${reason}`);
		return 1;
	}
	const python = clusterPython("ray-digits", ["scikit-learn>=1.5,<2"]);
	if (python === undefined) {
		console.log("not run: Ray could not be installed");
		return 1;
	}
	if (!isInside()) return await runInside();
	console.log(
		"starting a Ray cluster of three nodes in a network that has only loopback",
	);
	await using cluster = await Cluster.start({ python, nodes: NODES });
	const node = cluster.nodes.at(-1);
	const answers = await withPool(
		{
			name: "digits",
			adapter: rayPython({
				python,
				tools: join(import.meta.dirname, "digits.py"),
				address: cluster.address,
				resources: { CPU: 1 },
			}),
			size: NODES,
			queue: { limit: 2_000 },
			start: { timeoutMs: 120_000 },
		},
		async (pool: Pool<Tools>) => {
			let killing: Promise<void> | undefined;
			const result = await readDigits(pool, () => {
				console.log(`killed everything on node ${node?.address} with SIGKILL`);
				killing = node?.kill();
			});
			await killing;
			return result;
		},
	);
	printAnswers(answers);
	// Every process of the namespace is looked at; those of Ray that belong to a worker have the bridge in their command.
	const processes = listProcesses();
	const left = processes.filter(({ command }) =>
		command.includes("snakepit_bridge"),
	);
	printFact(
		"left",
		`${counted(left.length, "process", "processes")}, of ${count(processes.length)} on all nodes`,
	);
	for (const { pid, command } of left) console.log(`  pid ${pid}: ${command}`);
	return answers.once === answers.images && left.length === 0 ? 0 : 1;
}

/** The same program again, in the namespace. */
async function runInside(): Promise<number> {
	const [command = "", ...args] = NAMESPACE;
	const program = [...process.execArgv, ...process.argv.slice(1)];
	const child = spawn(command, [...args, process.execPath, ...program], {
		stdio: "inherit",
		env: { ...process.env, ...namespaceEnv() },
	});
	const [code] = await once(child, "exit");
	return code ?? 1;
}
