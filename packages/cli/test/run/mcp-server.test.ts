import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, test } from "vitest";
import { childrenOf, eventually, run } from "./started.ts";

const manifest = createRequire(import.meta.url).resolve(
	"@modelcontextprotocol/server-everything/package.json",
);
const SERVER = [process.execPath, join(dirname(manifest), "dist/index.js")];

test.runIf(process.platform === "linux")(
	"an MCP server below snakepit run, and a shell as npx has it, serves the official client and ends with it",
	async () => {
		const shell = ["/bin/sh", "-c", '"$0" "$@"; exit', ...SERVER];
		const [command, ...args] = run(shell);
		const transport = new StdioClientTransport({
			command,
			args,
			stderr: "ignore",
		});
		const client = new Client({ name: "test", version: "1" });
		await client.connect(transport);
		expect(
			await client.callTool({ name: "echo", arguments: { message: "x" } }),
		).toMatchObject({ content: [{ text: "Echo: x" }] });
		const pids = below(transport.pid ?? 0);
		// Front, exit watcher, supervisor, shell, server.
		expect(pids.length).toBeGreaterThanOrEqual(5);
		await client.close();
		await eventually("their end", () => !pids.some(lives));
	},
);

function below(pid: number): readonly number[] {
	return [pid, ...childrenOf(pid).flatMap(below)];
}

function lives(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}
