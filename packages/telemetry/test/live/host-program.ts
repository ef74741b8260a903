// A host of three workers that know nothing of it, and so outlive it when it is killed and
// nothing protects it. Its arguments are `dataDir`, the names of its protections, and of the fault
// that it has: with "trouble", its calls wait, fail and lose their workers, again and again. With "otlp"
// its metrics have the names that Prometheus gives to those that are sent to it. Says as a line of JSON where its metrics are, and which processes shall end with it.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { metrics } from "@opentelemetry/api";
import {
	PrometheusExporter,
	PrometheusSerializer,
} from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { createPool } from "@snakepit/core";
import { watchdog } from "@snakepit/watchdog";
import {
	METRICS,
	type MetricName,
	prometheusName,
	telemetry,
} from "../../src/index.ts";
import type { HostNews } from "./host.ts";
import { silentSleeper, sleeper } from "./sleeper.ts";

const [, , dataDir = "", ...names] = process.argv;
// Its own server takes port 0 for the usual one, which another host may have.
const exporter = new PrometheusExporter({ preventServerStart: true });
const scraped = Promise.withResolvers<void>();
let scrapes = 0;
const server = createServer(async (request, response) => {
	if (names.includes("otlp")) response.end(await textInUnits());
	else exporter.getMetricsRequestHandler(request, response);
	if (++scrapes === 2) scraped.resolve();
}).listen(0, "127.0.0.1");
await once(server, "listening");
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));

const pids = new Set<number>();
const pool = await createPool({
	adapter: names.includes("hang") ? silentSleeper : sleeper,
	dataDir,
	size: 3,
	guard: names.includes("guard") ? "required" : "off",
	protections: [watchdog()].filter(({ name }) => names.includes(name)),
	onEvent: (event) => {
		if (event.type === "worker.spawned" || event.type === "protection.started")
			pids.add(event.pid);
	},
	heartbeat: { intervalMs: 200, hungAfterMs: 1_000 },
	queue: { limit: 20 },
	// Trouble shall not end by itself.
	start: { maxRestarts: names.includes("crash-loop") ? 5 : 1_000_000 },
	instruments: [telemetry()],
});
for (let index = 0; index < 100; index++) await pool.execute("echo", index);
const news: HostNews = {
	port: (server.address() as AddressInfo).port,
	pids: [...pids],
};
console.log(JSON.stringify(news));
setInterval(() => {}, 1_000_000);
if (names.includes("trouble")) void makeTrouble();
if (names.includes("crash-loop")) void crashInALoop();
if (names.includes("overload")) void overload();
process.on("SIGTERM", () => void pool.close().then(() => process.exit(0)));

/** More calls than there are workers, until the pool is closed. */
async function makeTrouble(): Promise<void> {
	const session = pool.session({ id: "s" });
	await again(() => [
		session.execute("echo"),
		pool.execute("fail"),
		pool.recycle("sleeper-0"),
		pool.execute("crash", undefined, { retry: { attempts: 2 } }),
		...Array.from({ length: 8 }, () => pool.execute("hold")),
	]);
}

/** Every worker is killed as soon as it has a call; not before Prometheus has seen that all was well. */
async function crashInALoop(): Promise<void> {
	await scraped.promise;
	await again(() => [1, 2, 3].map(() => pool.execute("crash")));
}

/** The queue is full, and more calls come. */
async function overload(): Promise<void> {
	await Promise.all(
		Array.from({ length: 40 }, () => again(() => [pool.execute("slow")])),
	);
}

/** Makes calls again and again, until the pool is closed. */
async function again(calls: () => readonly Promise<unknown>[]): Promise<void> {
	for (;;) {
		const ended = await Promise.allSettled(calls());
		const isClosed = ended.some(
			(each) =>
				each.status === "rejected" && each.reason.code === "POOL_CLOSED",
		);
		if (isClosed) return;
		// Calls that are refused at once would leave no time for anything else.
		await delay(20);
	}
}

/** The metrics with their units in the names, as Prometheus itself adds them to what it receives as OTLP. */
async function textInUnits(): Promise<string> {
	const { resourceMetrics } = await exporter.collect();
	let text = new PrometheusSerializer().serialize(resourceMetrics);
	for (const metric of Object.keys(METRICS) as MetricName[])
		text = text.replaceAll(
			new RegExp(
				`\\b${prometheusName(metric, "exporter")}(?=(_bucket|_sum|_count)?[ {])`,
				"g",
			),
			prometheusName(metric, "otlp"),
		);
	return text;
}
