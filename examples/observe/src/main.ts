// Runs the demo with a viewer for its traces, metrics and logs. The viewer knows nothing of Snakepit: it is an HTTP
// server in a pool of one. The demo is a job of the same run. Argument: a viewer that is compiled already.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { http } from "@snakepit/adapter-http";
import { createPool, openRun } from "@snakepit/core";
import { watchdog } from "@snakepit/watchdog";

const VIEWER = "github.com/CtrlSpice/otel-desktop-viewer";
const ROOT = join(import.meta.dirname, "../../..");

const executable = process.argv[2] ?? compiledViewer();
const [grpc, page] = await freePorts();
await using run = await openRun({ protections: [watchdog()] });
await using pool = await createPool({
	name: "viewer",
	adapter: http({
		command: [
			...[executable, "--host", "127.0.0.1", "--open-browser=false"],
			...["--grpc", `${grpc}`, "--browser-port", `${page}`],
			// It opens this port last: when it answers there, it is ready.
			...["--http", "{port}"],
		],
		listen: "tcp",
	}),
	// A replacement would not have the data of the first one.
	...{ size: 1, start: { maxRestarts: 0 } },
	output: { echo: "none" },
});
pool.on("worker.exited", ({ reason, tail }) => {
	if (reason !== "exited") return;
	console.error(`The viewer ended:\n${tail.join("\n")}`);
	process.exit(1);
});

const otlp = await pool.use(async ({ origin }) => origin);
const demo = run.job([
	...[process.execPath, "--conditions=snakepit-source"],
	...[join(ROOT, "apps/demo/src/main.ts"), "--otlp", otlp],
]);
for await (const line of demo.lines()) console.log(line);
console.log(`
open         http://127.0.0.1:${page}/
traces       each image is one, \`call read\`; search WORKER_EXITED for the one that was
             running on the killed worker: its second attempt links to the first
metrics      snakepit.call.duration, snakepit.worker.exits, snakepit.heartbeat.duration
logs         what happened to host and workers; the killed worker is a warning
             Ctrl-C ends the viewer.`);
// An idle pool does not keep a program alive.
setInterval(() => {}, 2 ** 31 - 1);
await new Promise(() => {});

/** Compiles the viewer unless that was done before. viewer/go.sum pins it and everything that is compiled into it. */
function compiledViewer(): string {
	const file = join(ROOT, "node_modules/.cache/otel-desktop-viewer");
	if (existsSync(file)) return file;
	console.error(`Compiling ${VIEWER}, which takes minutes, once`);
	// With -mod=readonly, a module that go.sum does not name is an error.
	const args = ["build", "-mod=readonly", "-o", file, VIEWER];
	const { status } = spawnSync("go", args, {
		cwd: join(import.meta.dirname, "../viewer"),
		// A workspace in a parent directory would bring other versions.
		env: { ...process.env, GOWORK: "off" },
		stdio: "inherit",
	});
	if (status !== 0) {
		console.error("The viewer needs Go 1.26 and a C compiler.");
		process.exit(1);
	}
	return file;
}

/** Two ports of loopback that are free at the moment. */
async function freePorts(): Promise<number[]> {
	const servers = [createServer(), createServer()];
	const ports = servers.map(async (server) => {
		await once(server.listen(0, "127.0.0.1"), "listening");
		return (server.address() as AddressInfo).port;
	});
	const numbers = await Promise.all(ports);
	for (const server of servers) server.close();
	return numbers;
}
