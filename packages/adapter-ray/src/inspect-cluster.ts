import type { PythonOptions } from "@snakepit/adapter-python";
import { findPython } from "@snakepit/adapter-python";
import { runProgram } from "@snakepit/adapter-python/transport";
import { anyWorkingDirectory } from "@snakepit/core/adapter";
import type { LayerReport } from "@snakepit/core/protection";

/** Ray starts its own process on each node, and on a busy node one after the other. */
const LOOK_TIMEOUT_MS = 120_000;

/** The output of `python -m snakepit_bridge nodes` for each node. */
interface NodeReport {
	readonly name: string;
	readonly address: string;
	/** The version of Python; absent if there is a problem. */
	readonly python?: string;
	/** How long it took until a process that a tool had started outside its group was gone. */
	readonly endedWithinMs?: number;
	readonly problem?: string;
}

/**
 * Starts a worker on each node, makes its tool leave a process outside its group, drops the connections, and checks
 * that the process ends: with Ray's defaults, it would live on.
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
			// Modules must not be loaded from the working directory.
			env: { ...process.env, PYTHONSAFEPATH: "1" },
			cwd: anyWorkingDirectory(),
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
