import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { python } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dataDirectory } from "../../../../scripts/test-data-directory.ts";
import { type McpServing, serveMcp } from "../../src/server.ts";

const token = randomBytes(32).toString("hex");
const adapter = python({
	tools: new URL("./tools.py", import.meta.url),
	python: fileURLToPath(
		new URL("../../../../python/.venv/bin/python", import.meta.url),
	),
});
let pool: Awaited<ReturnType<typeof createPool>>;
let serving: McpServing;

beforeAll(async () => {
	pool = await createPool({ adapter, size: 1, dataDir: dataDirectory() });
	const tools = await adapter.describe();
	serving = await serveMcp(pool, { tools, http: { token } });
});
afterAll(async () => {
	await serving.close();
	await pool.close();
});

const url = () => new URL(serving.url ?? "");

async function connected(): Promise<Client> {
	const client = new Client({ name: "test", version: "1" });
	const transport = new StreamableHTTPClientTransport(url(), {
		requestInit: { headers: { Authorization: `Bearer ${token}` } },
	});
	await client.connect(transport as never);
	return client;
}

test("several clients call tools at once, each with its session", async () => {
	const clients = await Promise.all([connected(), connected()]);
	const results = await Promise.all(
		clients.map((client, index) =>
			client.callTool({ name: "mean", arguments: { numbers: [index] } }),
		),
	);
	expect(results).toMatchObject([
		{ content: [{ text: "0" }] },
		{ content: [{ text: "1" }] },
	]);
	await Promise.all(clients.map((client) => client.close()));
});

/** Sends one request as anybody on this machine could, or a page in a browser. */
function status(
	headers: Record<string, string>,
	{ path = "/mcp", body = "{}" } = {},
): Promise<number | undefined> {
	return new Promise((resolve, reject) => {
		const { port } = url();
		const sent = request(
			{ host: "127.0.0.1", port, path, method: "POST", headers },
			(response) => {
				response.resume();
				resolve(response.statusCode);
			},
		);
		sent.on("error", reject).end(body);
	});
}

test("a request that is too large is answered, and its client can read the answer", async () => {
	const headers = { Authorization: `Bearer ${token}` };
	const body = Buffer.alloc(2 ** 22 + 2 ** 20, " ");
	for (let round = 0; round < 30; round++) {
		const answer = await fetch(url(), { method: "POST", headers, body });
		expect(answer.status).toBe(413);
		expect(await answer.text()).toContain("4194304 bytes");
	}
});

test("who has no token, comes from another origin, or under another name is refused", async () => {
	const { host, port } = url();
	const authorized = { Authorization: `Bearer ${token}` };
	expect(await status({})).toBe(401);
	expect(await status({ Authorization: `Bearer ${token}x` })).toBe(401);
	expect(await status({ ...authorized, Host: `evil.example:${port}` })).toBe(
		403,
	);
	expect(await status({ ...authorized, Host: "127.0.0.1" })).toBe(403);
	expect(await status({ ...authorized, Origin: "http://evil.example" })).toBe(
		403,
	);
	expect(await status({ ...authorized, Origin: `https://${host}` })).toBe(403);
	expect(await status(authorized, { path: "/" })).toBe(404);
	expect(await status({ ...authorized, "Mcp-Session-Id": "absent" })).toBe(404);
	expect(await status(authorized, { body: "{" })).toBe(400);
	expect(await status(authorized, { body: " ".repeat(2 ** 22 + 1) })).toBe(413);
	// The same with everything that is needed, but no session: refused by the protocol itself.
	expect(
		await status({
			...authorized,
			Origin: `http://localhost:${port}`,
			Host: `localhost:${port}`,
		}),
	).not.toBe(403);
});

test("a short token is refused before anything listens", async () => {
	await expect(
		serveMcp(pool, { tools: [], http: { token: "short" } }),
	).rejects.toMatchObject({ code: "INVALID_OPTION" });
});

test("a server that is closed leaves no client waiting", async () => {
	const other = await serveMcp(pool, {
		tools: await adapter.describe(),
		http: { token },
	});
	const client = new Client({ name: "test", version: "1" });
	await client.connect(
		new StreamableHTTPClientTransport(new URL(other.url ?? ""), {
			requestInit: { headers: { Authorization: `Bearer ${token}` } },
		}) as never,
	);
	const waiting = client.callTool({ name: "waits", arguments: {} });
	const failed = expect(waiting).rejects.toThrow();
	const logged = new Promise<void>((resolve) => {
		pool.on("worker.logged", ({ record }) => {
			if (record.message === "waiting") other.close();
			if (record.message === "cancelled") resolve();
		});
	});
	await logged;
	await other.closed;
	await client.close();
	await failed;
});
