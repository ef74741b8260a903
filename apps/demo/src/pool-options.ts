import { join } from "node:path";
import { pythonGrpc, type Transport } from "@snakepit/adapter-grpc-python";
import type { PoolOptions } from "@snakepit/core";
import type { digitsEnvironment } from "./environment.ts";
import type { DemoTelemetry } from "./telemetry.ts";

/** Four workers, forked from one that has loaded what they need. */
export function poolOptions(
	environment: ReturnType<typeof digitsEnvironment>,
	transport: Transport,
	env?: DemoTelemetry["workerEnv"],
): PoolOptions {
	return {
		name: "digits",
		adapter: pythonGrpc({
			tools: join(import.meta.dirname, "digits.py"),
			environment,
			transport,
			preload: "tools",
			...(env && { env }),
		}),
		size: 4,
		// All images are asked for at once, and wait in the pool's queue.
		queue: { limit: 2_000 },
		// Often enough for a demo that lasts for seconds.
		heartbeat: { intervalMs: 500 },
		// The display shows what workers print.
		output: { echo: "none" },
	};
}
