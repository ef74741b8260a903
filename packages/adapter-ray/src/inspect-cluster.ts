import type { PythonOptions } from "@snakepit/adapter-python";
import { findPython } from "@snakepit/adapter-python";
import { runProgram } from "@snakepit/adapter-python/transport";
import type { LayerReport } from "@snakepit/core/protection";

/** Ray starts a process of its own on each node, one after the other on a busy one. */
const LOOK_TIMEOUT_MS = 120_000;

/** What `python -m snakepit_bridge nodes` prints of each node. */
interface NodeReport {
	readonly name: string;
	readonly address: string;
	/** The version of Python; absent where there is a problem. */
	readonly python?: string;
	/** After how long a process was gone that a tool had started outside of its group. */
	readonly endedWithinMs?: number;
	readonly problem?: string;
}

/**
 * Starts a worker on each node, lets a tool of it leave a process outside of its group, drops the connections, and looks
 * whether that process is gone: Ray's default would let it live.
 */
export async function inspectCluster(
	layer: string,
	python: PythonOptions,
	address: string,
): Promise<LayerReport> {
	const unavailable = (detail: string, remedy?: string): LayerReport => ({
		...{ layer, status: "unavailable", detail, remedy },
	});
	const program = await findPython(python);
	const args = ["-m", "snakepit_bridge", "nodes"];
	const done = await runProgram(
		program,
		address === "auto" ? args : [...args, address],
		{
			// The working directory is no place to look for modules in.
			env: { ...process.env, PYTHONSAFEPATH: "1" },
			cwd: process.cwd(),
			timeoutMs: LOOK_TIMEOUT_MS,
			signal: new AbortController().signal,
		},
	);
	if (done.kind === "missing") return unavailable(done.problem);
	const nodes = done.stdout
		.split("\n")
		.filter((line) => line.startsWith("{"))
		.map((line) => JSON.parse(line) as NodeReport);
	const broken = nodes.filter(({ problem }) => problem !== undefined);
	if (done.code !== 0 || nodes.length === 0)
		return unavailable(
			[
				...broken.map(
					({ name, address, problem }) => `${name} (${address}): ${problem}`,
				),
				...(broken.length === 0 ? [done.stderr.trim() || done.problem] : []),
			].join("; "),
			"Check the nodes named above. If the cluster was not found, start Ray on this machine as one of its nodes.",
		);
	return { layer, status: "available", detail: nodes.map(words).join("; ") };
}

function words({ name, address, python, endedWithinMs }: NodeReport): string {
	return `${name} (${address}): Python ${python}, a process that left its worker's group ended ${endedWithinMs} ms after the host`;
}
