import { join } from "node:path";
import {
	type PythonEnvironment,
	pythonGrpc,
} from "@snakepit/adapter-grpc-python";
import type { PoolOptions, SnakepitEvent } from "@snakepit/core";
import type { DemoTelemetry } from "./otlp/demo-telemetry.ts";

/** What the pool is: four Python workers that know how to read digits. */
export function digitsPool(
	environment: PythonEnvironment,
	onEvent: (event: SnakepitEvent) => void,
	telemetry: DemoTelemetry | undefined,
): PoolOptions {
	return {
		name: "digits",
		adapter: pythonGrpc({
			tools: join(import.meta.dirname, "digits.py"),
			environment,
			...(telemetry && { env: telemetry.workerVariables }),
		}),
		size: 4,
		// Every image is asked for at once: the pool's queue is what holds them.
		queue: { limit: 2_000 },
		// Often enough for a demo of seconds to show some.
		heartbeat: { intervalMs: 500 },
		// The display shows what workers print.
		output: { echo: "none" },
		onEvent,
		...(telemetry && {
			instruments: telemetry.instruments,
			// The demo closes it, and sends how that ended: `closeWhenHeld`.
			stop: { onSignal: "ignore" as const },
		}),
	};
}
