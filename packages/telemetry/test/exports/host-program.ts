// A program whose OTLP exporters are configured by variables, with a pool. Prints each `telemetry.misconfigured` as a line
// of JSON; ends when its standard input does.
import { NodeSDK } from "@opentelemetry/sdk-node";
import { createPool } from "@snakepit/core";
import { telemetry } from "../../src/index.ts";
import { sleeper } from "../live/sleeper.ts";

const sdk = new NodeSDK();
sdk.start();
const [, , dataDir = ""] = process.argv;
const pool = await createPool({
	adapter: sleeper,
	dataDir,
	size: 1,
	heartbeat: { intervalMs: 200 },
	instruments: [telemetry()],
	onEvent: (event) => {
		if (event.type === "telemetry.misconfigured")
			console.log(JSON.stringify(event));
	},
});
await pool.execute("echo");
process.stdin.resume();
process.stdin.once("end", () => void pool.close().then(() => process.exit(0)));
