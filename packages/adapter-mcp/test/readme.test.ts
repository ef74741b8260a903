import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, onTestFinished, test } from "vitest";
import { server } from "./servers.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
/** The server that npx would fetch is installed here. */
const fetched = '["npx", "-y", "@modelcontextprotocol/server-everything"]';
const local = JSON.stringify(server("everything"));

function run(code: string): { stdout: string; status: number | null } {
	const place = mkdtempSync(join(import.meta.dirname, ".snippets-"));
	try {
		expect(code).toContain(fetched);
		writeFileSync(join(place, "main.ts"), code.replace(fetched, local));
		const { stdout, status } = spawnSync(
			process.execPath,
			["--conditions=snakepit-source", "main.ts"],
			{
				cwd: place,
				encoding: "utf8",
				env: { ...process.env, XDG_STATE_HOME: place },
			},
		);
		return { stdout, status };
	} finally {
		rmSync(place, { recursive: true, force: true });
	}
}

const [first = "", second = ""] = [
	...readme.matchAll(/^```ts\n(.*?)^```$/gms),
].map(([, code]) => code);

test("the README's program runs", () => {
	expect(run(first)).toEqual({ stdout: "Echo: hello\ntrue\n", status: 0 });
});

test("the README's transport connects the official client", () => {
	const code = `import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { mcpTransport } from "@snakepit/adapter-mcp";
${second}
console.log(client.getServerVersion() !== undefined);
await client.close();`;
	expect(run(code)).toEqual({ stdout: "true\n", status: 0 });
});

test("the README's server serves its tools to the official client", async () => {
	const place = mkdtempSync(join(import.meta.dirname, ".snippets-"));
	onTestFinished(() => rmSync(place, { recursive: true, force: true }));
	for (const [, name = "", code = ""] of readme.matchAll(
		/^```\w+\n(?:#|\/\/) (tools\.py|server\.ts)\n(.*?)^```$/gms,
	))
		writeFileSync(join(place, name), code);
	const client = new Client({ name: "test", version: "1" });
	await client.connect(
		new StdioClientTransport({
			command: process.execPath,
			args: ["--conditions=snakepit-source", "server.ts"],
			cwd: place,
			env: {
				...(process.env as Record<string, string>),
				XDG_STATE_HOME: place,
				VIRTUAL_ENV: fileURLToPath(
					new URL("../../../python/.venv", import.meta.url),
				),
			},
		}),
	);
	expect(
		await client.callTool({ name: "mean", arguments: { numbers: [1, 2, 6] } }),
	).toMatchObject({ content: [{ text: "3" }] });
	await client.close();
});
