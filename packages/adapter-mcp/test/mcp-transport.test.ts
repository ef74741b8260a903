import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { readHistory } from "@snakepit/core/inspect";
import { expect, test } from "vitest";
import { dataDirectory } from "../../../scripts/test-data-directory.ts";
import { mcpTransport } from "../src/index.ts";
import { server } from "./servers.ts";

const command = server("everything");
const newLedger = () => mkdtempSync(join(dataDirectory(), "ledger-"));

async function connected(dataDir: string) {
	const transport = mcpTransport({ command }, { dataDir });
	const client = new Client({ name: "test", version: "1" });
	await client.connect(transport);
	return { client, transport };
}

test("the official client works with it, and its server is a worker of the ledger that ends with it", async () => {
	const dataDir = newLedger();
	const { client } = await connected(dataDir);
	expect(
		await client.callTool({ name: "echo", arguments: { message: "x" } }),
	).toMatchObject({ content: [{ text: "Echo: x" }] });
	const [living] = await Array.fromAsync(readHistory({ dataDir }));
	expect(living?.workers).toMatchObject([{ status: "active" }]);
	const pid = living?.workers[0]?.identity?.pid ?? 0;
	await client.close();
	expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("the end of the server closes it, and calls reject", async () => {
	const dataDir = newLedger();
	const { client } = await connected(dataDir);
	const closed = new Promise<void>((resolve) => {
		client.onclose = resolve;
	});
	const call = client
		.callTool({
			name: "trigger-long-running-operation",
			arguments: { duration: 3_600, steps: 1 },
		})
		.catch((error: Error) => error.message);
	const [living] = await Array.fromAsync(readHistory({ dataDir }));
	process.kill(living?.workers[0]?.identity?.pid ?? 0, "SIGKILL");
	await closed;
	expect(await call).toContain("Connection closed");
	await expect(client.ping()).rejects.toThrow();
	await client.close();
});

test("what cannot be started rejects, and nothing may be sent before the start", async () => {
	const dataDir = newLedger();
	const absent = mcpTransport({ command: ["/nowhere/mcp"] }, { dataDir });
	await expect(
		absent.send({ jsonrpc: "2.0", method: "ping", id: 1 }),
	).rejects.toThrow("start()");
	await expect(absent.start()).rejects.toMatchObject({ name: "StartError" });
	await absent.close();
});
