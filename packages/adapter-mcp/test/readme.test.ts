import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, test } from "vitest";
import {
	blocksOf,
	runProgram,
	writeFiles,
} from "../../../scripts/page-programs.ts";
import { server } from "./servers.ts";

/** The server that npx would fetch is installed here. */
const fetched = '["npx", "-y", "@modelcontextprotocol/server-everything"]';
const local = JSON.stringify(server("everything"));
const blocks = blocksOf(new URL("../README.md", import.meta.url));
const [first = "", second = ""] = blocks.map(({ code }) => code);

function run(code: string): { stdout: string; status: number | null } {
	expect(code).toContain(fetched);
	const directory = writeFiles(import.meta.dirname, [
		{ name: "main.ts", code: code.replace(fetched, local) },
	]);
	const { stdout, status } = runProgram(directory, "main.ts");
	return { stdout, status };
}

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
	const place = writeFiles(import.meta.dirname, blocks);
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
