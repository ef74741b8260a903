import { fileURLToPath } from "node:url";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { type PythonOptions, python } from "@snakepit/adapter-python";
import { rayPython } from "@snakepit/adapter-ray";
import { lines } from "@snakepit/adapter-stdio";
import type { RunOptions } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import { watchdog } from "@snakepit/watchdog";

/** What the workers of a host are. */
export interface WorkerOptions {
	readonly worker: "python" | "ray" | "shell" | "node";
	/** Whether the kernel ends workers that are not Python with their host; `"auto"` by default. */
	readonly lifeline?: "auto" | "off";
	/** Another program for the workers than that of their kind. */
	readonly program?: string;
	/** From what Python workers are forked; `"off"` by default. */
	readonly preload?: NonNullable<PythonOptions["preload"]>;
	/** How Python workers and the host talk; gRPC by default. */
	readonly transport?: "grpc" | "framed";
}

/** What protects the workers of a host besides the lifeline, by its stable name. */
export type ProtectionName = "watchdog" | "guard";

const at = (path: string): string =>
	fileURLToPath(new URL(path, import.meta.url));

/** The interpreter of the development environment. */
export const PYTHON: string = at("../../python/.venv/bin/python");

/** The interpreter that has Ray, where it could be installed. */
const RAY_PYTHON: string = at(
	"../../node_modules/.cache/python/ray/bin/python",
);

/** The options of a run with exactly these. The guard is there by default: without it, it is turned off. */
export function protectionsOf(
	names: readonly ProtectionName[],
): Pick<RunOptions, "guard" | "protections"> {
	return {
		...(!names.includes("guard") && { guard: "off" }),
		...(names.includes("watchdog") && { protections: [watchdog()] }),
	};
}

/** The adapter for one kind of worker. */
export function workerAdapter({
	worker,
	lifeline,
	program,
	preload = "off",
	transport = "grpc",
}: WorkerOptions): Adapter {
	switch (worker) {
		case "python": {
			const options = {
				python: PYTHON,
				tools: program ?? at("./tools.py"),
				preload,
			};
			return transport === "framed" ? python(options) : pythonGrpc(options);
		}
		case "ray":
			return onCluster(program ?? at("./tools.py"));
		case "shell":
			return lineWorker("/bin/sh", program ?? at("./worker.sh"), lifeline);
		case "node":
			return lineWorker(
				process.execPath,
				program ?? at("./worker.mjs"),
				lifeline,
			);
	}
}

/** On the cluster of `scripts/ray`, whose keep-alive the environment may set. */
function onCluster(tools: string): Adapter {
	const { RAY_ADDRESS: address = "auto", RAY_KEEP_ALIVE_MS } = process.env;
	const stage = Object.entries(process.env).flatMap(([name, value]) =>
		name.startsWith("CHAOS_") && value !== undefined ? [[name, value]] : [],
	);
	return rayPython({
		python: RAY_PYTHON,
		tools,
		address,
		resources: { CPU: 1 },
		// What is left on a node is found by the stage in its environment.
		runtimeEnv: { env_vars: Object.fromEntries(stage) },
		connection: { keepAliveMs: Number(RAY_KEEP_ALIVE_MS ?? 10_000) },
	});
}

/** Programs that know nothing of Snakepit: they answer each line with the same and a prompt, and ignore the end of their input. */
function lineWorker(
	executable: string,
	program: string,
	lifeline: "auto" | "off" | undefined,
): Adapter {
	const adapter = lines({
		command: [executable, program],
		inheritEnv: "all",
		encode: (command) => command,
		until: { prompt: "> " },
	});
	return {
		...adapter,
		launch: async (slot, signal) => ({
			...(await adapter.launch(slot, signal)),
			lifeline,
		}),
	};
}
