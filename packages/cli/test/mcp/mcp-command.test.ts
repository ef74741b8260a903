import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
	chmodSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { run, SNAKEPIT_IN_NODE } from "../run/started.ts";

const TOOLS = join(
	import.meta.dirname,
	"../../../adapter-mcp/test/server/tools.py",
);
const PYTHON = join(import.meta.dirname, "../../../../python/.venv/bin/python");

function place(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-cli-"));
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	return path;
}

function mcp(dataDir: string, ...args: readonly string[]) {
	return [
		...SNAKEPIT_IN_NODE,
		...["mcp", TOOLS, "--python", PYTHON, "--data-dir", dataDir],
		...args,
	];
}

test("snakepit mcp serves a file of tools, also below snakepit run", async () => {
	const [command, ...args] = run(mcp(place(), "--name", "mine"));
	const client = new Client({ name: "test", version: "1" });
	const faults: Error[] = [];
	client.onerror = (error) => faults.push(error);
	await client.connect(
		new StdioClientTransport({ command, args, stderr: "ignore" }),
	);
	expect(client.getServerVersion()?.name).toBe("mine");
	expect(
		await client.callTool({ name: "mean", arguments: { numbers: [1, 3] } }),
	).toMatchObject({ content: [{ text: "2" }] });
	// It prints, which must not come between the messages.
	expect(
		await client.callTool({ name: "fails", arguments: { message: "x" } }),
	).toMatchObject({ isError: true, content: [{ text: "ValueError: x" }] });
	expect(faults).toEqual([]);
	await client.close();
});

test("snakepit mcp --http makes a token that only this user can read, and serves whoever brings it", async () => {
	const file = join(place(), "token");
	const [program = "", ...args] = mcp(
		place(),
		"--http",
		"0",
		"--token-file",
		file,
	);
	const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
	onTestFinished(() => {
		child.kill("SIGKILL");
	});
	const lines = createInterface({ input: child.stderr });
	let url = "";
	for await (const line of lines) {
		url = /Serving (\S+);/.exec(line)?.[1] ?? "";
		if (url !== "") break;
	}
	expect(statSync(file).mode & 0o777).toBe(0o600);
	const token = readFileSync(file, "utf8").trim();
	const client = new Client({ name: "test", version: "1" });
	const transport = new StreamableHTTPClientTransport(new URL(url), {
		requestInit: { headers: { Authorization: `Bearer ${token}` } },
	});
	await client.connect(transport as never);
	expect(
		await client.callTool({ name: "mean", arguments: { numbers: [4] } }),
	).toMatchObject({ content: [{ text: "4" }] });
	await client.close();
	const ended = once(child, "exit");
	child.kill("SIGTERM");
	await ended;
	chmodSync(file, 0o644);
	const again = spawnSync(program, args, { encoding: "utf8" });
	expect(again).toMatchObject({ status: 1, stdout: "" });
	expect(again.stderr).toContain(`chmod 600 ${file}`);
});

test.each([
	[["mcp"], 2, /missing required argument/],
	[["mcp", TOOLS, "--http", "0"], 2, /need each other/],
	[["mcp", TOOLS, "--workers", "x"], 2, /not a whole number/],
	[["bogus"], 2, /unknown command 'bogus'/],
	[[], 2, /Usage: snakepit/],
])("%j ends with %i, and says why", (args, status, message) => {
	const [program, ...before] = SNAKEPIT_IN_NODE;
	const ended = spawnSync(program, [...before, ...args], { encoding: "utf8" });
	expect(ended).toMatchObject({ status, stdout: "" });
	expect(ended.stderr).toMatch(message);
});

test("a file that does not exist is named", () => {
	const [program, ...before] = SNAKEPIT_IN_NODE;
	const ended = spawnSync(
		program,
		[...before, "mcp", "absent.py", "--python", PYTHON, "--data-dir", place()],
		{ encoding: "utf8" },
	);
	expect(ended).toMatchObject({ status: 1, stdout: "" });
	expect(ended.stderr).toContain("absent.py");
});
