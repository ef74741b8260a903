// A stand-in for otel-desktop-viewer, for tests: it has the flags of v0.4.1, listens where
// they say in the order in which that does, fails in its words, ends on SIGINT and SIGTERM,
// and answers `getStats`. It shows nothing: it counts requests. `STAND_IN_HABIT` gives it a bad habit.
import { appendFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { parseArgs } from "node:util";

/** In case the test that started it is gone. */
const LONGEST_LIFE_MS = 600_000;

const habit = process.env["STAND_IN_HABIT"];
const pids = process.env["STAND_IN_PIDS"];
if (pids !== undefined) appendFileSync(pids, `viewer ${process.pid}\n`);

// Flags that it does not have, or without a value, are errors there as well.
const { values } = parseArgs({
	options: {
		host: { type: "string", default: "localhost" },
		http: { type: "string", default: "4318" },
		grpc: { type: "string", default: "4317" },
		"browser-port": { type: "string", default: "8000" },
		db: { type: "string", default: "" },
		"db-max-size": { type: "string", default: "" },
	},
	args: process.argv
		.slice(2)
		// The flag of a switch has its value behind the sign of equality.
		.filter((arg) => arg !== "--open-browser=false"),
});
if (!process.argv.includes("--open-browser=false"))
	fail("it would open a browser");

console.error("info	stand-in	output that nobody wants to see");
if (habit === "exits at once") fail("the database is broken");

const received = { traces: 0, metrics: 0, logs: 0 };
const page = createHttpServer((request, response) => {
	if (request.method !== "POST") {
		response.end("<!doctype html><title>stand-in</title>");
		return;
	}
	request
		.setEncoding("utf8")
		.toArray()
		.then(([body]) => {
			const { id, method } = JSON.parse(body);
			response.setHeader("content-type", "application/json");
			response.end(
				JSON.stringify({
					jsonrpc: "2.0",
					id,
					...(method === "getStats"
						? { result: statistics() }
						: { error: { code: -32601, message: "method not found" } }),
				}),
			);
		});
});
const otlp = createHttpServer((request, response) => {
	const signal = /^\/v1\/(traces|metrics|logs)$/.exec(request.url ?? "")?.[1];
	if (signal === undefined) response.statusCode = 404;
	else received[signal as keyof typeof received]++;
	request.resume().once("end", () => response.end());
});
// Metrics come every 5 s, when Node would close the connection: a request that is on its way then fails.
otlp.keepAliveTimeout = 0;

for (const signal of ["SIGINT", "SIGTERM"])
	process.on(signal, () => {
		if (habit !== "ignores SIGTERM") process.exit(0);
	});
if (habit === "never listens") {
	setTimeout(() => process.exit(9), LONGEST_LIFE_MS);
} else {
	await listen(page, values["browser-port"]);
	await listen(createServer(), values.grpc);
	await listen(otlp, values.http);
}

function statistics() {
	return {
		traces: { traceCount: received.traces, spanCount: received.traces },
		metrics: { metricCount: received.metrics },
		logs: { logCount: received.logs },
	};
}

async function listen(server: Server, port: string): Promise<void> {
	await new Promise<void>((resolve) => {
		server.once("error", (error: NodeJS.ErrnoException) =>
			fail(
				error.code === "EADDRINUSE"
					? `listen tcp ${values.host}:${port}: bind: address already in use`
					: error.message,
			),
		);
		server.listen(Number(port), values.host, resolve);
	});
}

function fail(why: string): never {
	console.error(`collector server run finished with error: ${why}`);
	process.exit(1);
}
