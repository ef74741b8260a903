// Fifty calls of one small worker, exported as the demo exports its own: URL of the receiver, Python.
import { fileURLToPath } from "node:url";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { withPool } from "@snakepit/core";
import { DemoTelemetry } from "../../src/telemetry.ts";

const TOOLS = fileURLToPath(
	new URL(
		"../../../../packages/adapter-python/test/tools/bench.py",
		import.meta.url,
	),
);

const [url = "", python = ""] = process.argv.slice(2);
const telemetry = new DemoTelemetry(url);
const sums = await withPool(
	{
		adapter: pythonGrpc({ tools: TOOLS, python, env: telemetry.workerEnv }),
		size: 1,
		output: { echo: "none" },
		instruments: telemetry.instruments,
		onEvent: (event) => void telemetry.isAboutExports(event),
	},
	(pool) =>
		Promise.all(
			Array.from({ length: 50 }, (_, a) => pool.execute("add", { a, b: 1 })),
		),
);
console.log(`answered ${new Set(sums).size} calls`);
console.log("left the pool");
console.log(`telemetry    ${await telemetry.end()}`);
