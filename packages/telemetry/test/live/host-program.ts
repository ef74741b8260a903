// A host of three workers that know nothing of it, and so outlive it when it is killed and
// nothing protects it. Its arguments are `dataDir` and the names of its protections. Says as a
// line of JSON where its metrics are, and which processes shall end with it.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { metrics } from "@opentelemetry/api";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { createPool } from "@snakepit/core";
import { watchdog } from "@snakepit/watchdog";
import { telemetry } from "../../src/index.ts";
import type { HostNews } from "./host.ts";
import { sleeper } from "./sleeper.ts";

// Its own server takes port 0 for the usual one, which another host may have.
const exporter = new PrometheusExporter({ preventServerStart: true });
const server = createServer((request, response) =>
	exporter.getMetricsRequestHandler(request, response),
).listen(0, "127.0.0.1");
await once(server, "listening");
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));

const [, , dataDir = "", ...names] = process.argv;
const pids = new Set<number>();
const pool = await createPool({
	adapter: sleeper,
	dataDir,
	size: 3,
	guard: names.includes("guard") ? "required" : "off",
	protections: [watchdog()].filter(({ name }) => names.includes(name)),
	onEvent: (event) => {
		if (event.type === "worker.spawned" || event.type === "protection.started")
			pids.add(event.pid);
	},
	heartbeat: { intervalMs: 200 },
	instruments: [telemetry()],
});
for (let index = 0; index < 100; index++) await pool.execute("echo", index);
const news: HostNews = {
	port: (server.address() as AddressInfo).port,
	pids: [...pids],
};
console.log(JSON.stringify(news));
setInterval(() => {}, 1_000_000);
process.on("SIGTERM", () => void pool.close().then(() => process.exit(0)));
