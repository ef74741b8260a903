// A host of three workers that know nothing of it, and so outlive it when it is killed.
// Says as JSON lines where its metrics are; `dataDir` is its first argument.
import { metrics } from "@opentelemetry/api";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { type Adapter, createPool } from "@snakepit/core";
import { telemetry } from "../../src/index.ts";

const adapter: Adapter = {
	name: "sleeper",
	launch: () => ({
		executable: process.execPath,
		args: ["-e", "setInterval(() => {}, 1e6)"],
	}),
	connect: async () => ({
		execute: async (_command, args) => args,
		ping: async () => ({ callsRunning: 0 }),
		[Symbol.asyncDispose]: async () => {},
	}),
};

const exporter = new PrometheusExporter({ host: "127.0.0.1", port: 0 });
await exporter.startServer();
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));

const [, , dataDir = ""] = process.argv;
const pool = await createPool({
	adapter,
	dataDir,
	size: 3,
	heartbeat: { intervalMs: 200 },
	instruments: [telemetry()],
});
for (let index = 0; index < 100; index++) await pool.execute("echo", index);
const server = (
	exporter as unknown as { _server: { address(): { port: number } } }
)._server;
console.log(JSON.stringify({ port: server.address().port }));
setInterval(() => {}, 1_000_000);
process.on("SIGTERM", () => void pool.close().then(() => process.exit(0)));
