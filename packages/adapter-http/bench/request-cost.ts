/**
 * The processor time of the client for a small request to a worker, by http(), by node:http and by undici, in turns:
 *
 *     npm install --prefix DIRECTORY undici@7
 *     node --conditions=snakepit-source packages/adapter-http/bench/request-cost.ts DIRECTORY [rounds]
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { http } from "@snakepit/adapter-http";
import { createPool } from "@snakepit/core";

const [, , undiciDirectory, rounds = "8"] = process.argv;
if (undiciDirectory === undefined)
	throw new Error("Usage: request-cost.ts DIRECTORY [rounds]");
const { Pool } = createRequire(resolve(undiciDirectory, "package.json"))(
	"undici",
);
const REQUESTS = 2_000;
const BODY = '{"a":1}';
const headers = {
	"content-type": "application/json",
	"accept-encoding": "identity",
};

const directory = mkdtempSync(join(tmpdir(), "snakepit-http-"));
const server = join(directory, "server.mjs");
writeFileSync(
	server,
	`import { createServer } from "node:http";
createServer((request, response) => {
	response.setHeader("content-type", "application/json");
	request.pipe(response);
}).listen(process.argv[2]);
`,
);
const pool = await createPool({
	adapter: http({ command: [process.execPath, server, "{socket}"] }),
	size: 1,
	dataDir: join(directory, "data"),
});
const socketPath = await pool.use(async (client) => client.socketPath);
const agent = new Agent({ keepAlive: true });
const undici = new Pool("http://localhost", { socketPath, connections: 1 });

const WAYS: Record<string, () => Promise<unknown>> = {
	undici: async () => {
		const options = { path: "/", method: "POST", headers, body: BODY };
		return await (await undici.request(options)).body.json();
	},
	"node:http": () =>
		new Promise((done, failed) => {
			const options = { socketPath, agent, method: "POST", headers };
			const asked = request(options, (response) => {
				const read: Buffer[] = [];
				response.on("data", (chunk: Buffer) => read.push(chunk));
				response.once("end", () => done(JSON.parse(String(read[0]))));
			});
			asked.once("error", failed);
			asked.end(BODY);
		}),
	"pool.execute": () => pool.execute("POST /", { a: 1 }),
};

const used = new Map<string, number[]>();
for (let round = 0; round <= Number(rounds); round++)
	for (const [name, way] of Object.entries(WAYS)) {
		const before = process.cpuUsage();
		for (let number = 0; number < REQUESTS; number++) await way();
		const { user, system } = process.cpuUsage(before);
		// The first round warms up.
		if (round > 0)
			used.set(name, [...(used.get(name) ?? []), (user + system) / REQUESTS]);
	}
const median = (times: readonly number[]): number =>
	times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
const least = median(used.get("undici") ?? []);
for (const [name, times] of used)
	console.log(
		`${name.padEnd(12)} ${median(times).toFixed(0).padStart(4)} us (${Math.min(...times).toFixed(0)} - ${Math.max(...times).toFixed(0)}), ${(median(times) / least).toFixed(2)} times undici`,
	);

await undici.close();
agent.destroy();
await pool.close();
rmSync(directory, { recursive: true });
