import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { rayPython } from "@snakepit/adapter-ray";
import { type Pool, type SnakepitEvent, withPool } from "@snakepit/core";
import { Cluster } from "../../../scripts/ray/cluster.ts";
import {
	isInside,
	NAMESPACE,
	namespaceEnv,
	namespaceUnavailable,
} from "../../../scripts/ray/namespace.ts";
import { clusterPython } from "../../../scripts/ray/python.ts";
import type { Display } from "./display.ts";
import { count, counted, duration, percent } from "./figures.ts";
import type { Tools } from "./gen/digits.ts";
import { seeProcesses } from "./processes.ts";
import { type Answers, readDigits } from "./read-digits.ts";

const NODES = 3;

/**
 * Reads the digits with a worker on each of three nodes, of which one loses its power half way.
 * Returns the exit code.
 */
export async function readOnCluster(display: Display): Promise<number> {
	const reason = namespaceUnavailable();
	if (reason !== undefined) {
		display.print(`not run, because Ray listens on all interfaces: ${reason}`);
		return 1;
	}
	const python = clusterPython("ray-digits", ["scikit-learn>=1.5,<2"]);
	if (python === undefined) {
		display.print("not run: Ray could not be installed");
		return 1;
	}
	if (!isInside()) return await runInside();
	display.print(
		"starting a Ray cluster of three nodes in a network that has only loopback",
	);
	const begunMs = performance.now();
	await using cluster = await Cluster.start({ python, nodes: NODES });
	display.print(
		`${counted(NODES, "node")} after ${duration(performance.now() - begunMs)}`,
	);
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
			output: { echo: "none" },
			onEvent: (event: SnakepitEvent) => display.handle(event),
		},
		(pool: Pool<Tools>) => readAndKill(pool, cluster, display),
	);
	return report(answers, display);
}

/** The same program again, in the namespace. */
async function runInside(): Promise<number> {
	const [command = "", ...words] = NAMESPACE;
	const again = [...process.execArgv, ...process.argv.slice(1)];
	const child = spawn(command, [...words, process.execPath, ...again], {
		stdio: "inherit",
		env: { ...process.env, ...namespaceEnv() },
	});
	const [code] = await once(child, "exit");
	return code ?? 1;
}

async function readAndKill(
	pool: Pool<Tools>,
	cluster: Cluster,
	display: Display,
): Promise<Answers> {
	const node = cluster.nodes.at(-1);
	let killing: Promise<void> | undefined;
	const answers = await readDigits(pool, display, () => {
		display.print(`killed everything on node ${node?.address} with SIGKILL`);
		killing = node?.kill();
	});
	await killing;
	return answers;
}

/** Looks at every process of the namespace: of Ray's, those that carry Snakepit's are named by that. */
function report(
	{ images, once, right, durationMs }: Answers,
	display: Display,
): number {
	const processes = seeProcesses();
	const left = processes.filter(({ command }) =>
		command.includes("snakepit_bridge"),
	);
	for (const line of [
		`answered     ${count(once)} of ${counted(images, "image")} exactly once`,
		`accuracy     ${percent(right, images)}`,
		`throughput   ${counted((1_000 * images) / durationMs, "image")}/s`,
		`left         ${counted(left.length, "process", "processes")}, of ${count(processes.length)} on all nodes`,
		...left.map(({ pid, command }) => `  pid ${pid}: ${command}`),
	])
		display.print(line);
	return once === images && left.length === 0 ? 0 : 1;
}
