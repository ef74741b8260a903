import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
	chmodSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { run, SNAKEPIT_IN_NODE, snakepit } from "../run/started.ts";

const TOOLS = join(
	import.meta.dirname,
	"../../../adapter-mcp/test/server/tools.py",
);
const PYTHON = join(import.meta.dirname, "../../../../python/.venv/bin/python");

/** Each starts Node, and that starts Python. */
const DEADLINE_MS = 120_000;

function mcp(dataDir: string, ...args: readonly string[]) {
	return [
		...SNAKEPIT_IN_NODE,
		...["mcp", TOOLS, "--python", PYTHON, "--data-dir", dataDir],
		...args,
	];
}

test(
	"snakepit mcp serves a file of tools, also below snakepit run",
	async () => {
		const [command, ...args] = run(mcp(temporaryDirectory(), "--name", "mine"));
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
	},
	DEADLINE_MS,
);

test("snakepit mcp --http creates a token that only this user can read, and serves every client that sends it", async () => {
	const file = join(temporaryDirectory(), "token");
	const [program = "", ...args] = mcp(
		temporaryDirectory(),
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
		url = /^Serving (\S+) with/.exec(line)?.[1] ?? "";
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
	[["mcp", TOOLS, "--http", "0"], 2, /Use --http and --token-file together/],
	[["mcp", TOOLS, "--workers", "x"], 2, /not a whole number/],
	[["mcp", TOOLS, "--workers", "0"], 2, /must be 1 or more/],
	[["mcp", TOOLS, "--http", "70000"], 2, /at most 65535/],
	[["bogus"], 2, /unknown command 'bogus'/],
	[[], 2, /Usage: snakepit/],
])("%j ends with %i, and says why", (args, status, message) => {
	const ended = snakepit(args);
	expect(ended).toMatchObject({ status, stdout: "" });
	expect(ended.stderr).toMatch(message);
});

/** Fails, and says why in words of the command alone. */
function refused(...args: readonly string[]): string {
	const { status, stdout, stderr } = snakepit([
		...["mcp", ...args, "--data-dir", temporaryDirectory()],
	]);
	expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: "" });
	expect(stderr).not.toMatch(
		/option|pythonEnvironment|createPool|serveMcp|new URL|\{ module/,
	);
	return stderr;
}

test(
	"what is wrong with a file, the Python or a token is said with the flags of the command",
	() => {
		expect(refused("absent.py", "--python", PYTHON)).toMatch(
			/no file \S+absent\.py\. /,
		);
		expect(refused(TOOLS, "--python", "/absent/python")).toMatch(
			/--python names it.*set --python to another Python\./s,
		);
		const python = join(temporaryDirectory(), "python");
		// What it answers when it is asked about itself: an interpreter that has no bridge.
		symlinkSync("/usr/bin/python3", python);
		expect(refused(TOOLS, "--python", python)).toMatch(
			/has no snakepit_bridge.*or set --python to another Python\./s,
		);
		const token = join(temporaryDirectory(), "token");
		writeFileSync(token, "short", { mode: 0o600 });
		expect(
			refused(TOOLS, "--python", PYTHON, "--http", "0", "--token-file", token),
		).toContain("32 visible ASCII characters");
	},
	DEADLINE_MS,
);
