import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, test } from "vitest";
import { SNAKEPIT } from "./run/started.ts";

const read = (path: string) =>
	readFileSync(new URL(path, import.meta.url), "utf8");
const manifest = createRequire(import.meta.url).resolve(
	"@modelcontextprotocol/server-everything/package.json",
);
/** What npx would fetch is installed here. */
const INSTALLED: readonly (readonly [string, readonly string[]])[] = [
	["npx -y @snakepit/cli", SNAKEPIT],
	[
		"npx -y @modelcontextprotocol/server-everything",
		[process.execPath, join(dirname(manifest), "dist/index.js")],
	],
];

interface Configured {
	readonly command: string;
	readonly args: readonly string[];
}

function configured(path: string): Configured {
	const [, block = ""] = /^```json\n(.*?)^```$/ms.exec(read(path)) ?? [];
	const text = block.startsWith("{") ? block : `{${block}}`;
	const { mcpServers, ...server } = JSON.parse(text);
	return mcpServers?.everything ?? server;
}

test("the server of the README's MCP configuration serves", async () => {
	const { command, args } = configured("../README.md");
	let line = [command, ...args].join("\n");
	for (const [fetched, local] of INSTALLED) {
		const words = fetched.replaceAll(" ", "\n");
		expect(line).toContain(words);
		line = line.replace(words, local.join("\n"));
	}
	const [program = "", ...rest] = line.split("\n");
	const client = new Client({ name: "test", version: "1" });
	await client.connect(
		new StdioClientTransport({
			command: program,
			args: rest,
			stderr: "ignore",
		}),
	);
	expect(client.getServerVersion()).toBeDefined();
	await client.close();
});

test("the first page has the same configuration", () => {
	expect(configured("../../../README.md")).toEqual(configured("../README.md"));
});
