// Programs that people often start from their own, and the host of one of them: its argument is as `../host.ts` has
// it; the name of the program, and who starts it, are in CHAOS_PROGRAM.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { mcp } from "@snakepit/adapter-mcp";
import { createPool, type Pool } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import { testPython } from "../../../scripts/python-environment.ts";
import { type ProtectionName, protectionsOf } from "../worker-adapter.ts";

/** A pool for the program, without which it is started as people usually do it. */
interface Pooled {
	readonly dataDir: string;
	readonly protections: readonly ProtectionName[];
}

/** A program of the table, and how it is started. */
interface AnyProgram {
	readonly name: string;
	/** With what it is usually started. */
	readonly usual: string;
	/** Resolves when it is running and does what its name says. */
	start(pooled?: Pooled): Promise<void>;
}

const here = import.meta.dirname;
const load = createRequire(import.meta.url);
const LONG = {
	name: "trigger-long-running-operation",
	arguments: { duration: 3_600, steps: 1 },
};
const env = {
	...process.env,
	PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`,
} as Record<string, string>;

export const PROGRAMS: readonly AnyProgram[] = [
	mcpServer("MCP server-everything", () => [
		process.execPath,
		load.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
	]),
	mcpServer("MCP server-everything below npx", () => [
		...["npx", "--no-install", "mcp-server-everything"],
	]),
	printingProgram("uvicorn with two workers, idle", () => {
		const requirements = ["uvicorn==0.54.0"];
		const python = testPython({ name: "uvicorn", requirements });
		if (python === undefined)
			throw new Error("uvicorn could not be installed.");
		const socket = join(process.env["CHAOS_STAGE"] ?? "", "uvicorn.sock");
		return [
			...[python, "-m", "uvicorn", "--app-dir", here, "--workers", "2"],
			...["--uds", socket, "asgi:app"],
		];
	}, [/first worker is up/, /second worker is up/]),
	shell(
		"a shell with two children, busy",
		"sleep 1000 & sleep 1000 & echo up; while :; do :; done",
	),
	shell(
		"a shell, and its child in a session of its own",
		"setsid sleep 1000 & echo up; wait",
	),
	// It is found by the file that it reads.
	shell(
		"a shell, and a daemon that left and cleared its environment",
		': > "$CHAOS_STAGE/daemon"; setsid env -i tail -f "$CHAOS_STAGE/daemon" < /dev/null > /dev/null 2>&1 & echo up; wait',
	),
];

/** A server in a call that does not end. Requests are read in order: when a ping is answered, the call has begun. */
function mcpServer(name: string, command: () => readonly string[]): AnyProgram {
	const cwd = join(here, "../..");
	return {
		name: `${name}, in a call`,
		usual: "the official `StdioClientTransport`",
		start: async (pooled) => {
			const [executable = "", ...args] = command();
			if (pooled === undefined) {
				const client = new Client({ name: "chaos", version: "1.0.0" });
				await client.connect(
					new StdioClientTransport({
						...{ command: executable, args, cwd, env, stderr: "ignore" },
					}),
				);
				client.callTool(LONG).catch(() => {});
				await client.ping();
				return;
			}
			const pool = await poolOf(
				mcp({ command: [executable, ...args], cwd, env, inheritEnv: "all" }),
				pooled,
			);
			pool.use((client) => client.callTool(LONG));
			await pool.use((client) => client.ping());
		},
	};
}

function shell(name: string, script: string): AnyProgram {
	return printingProgram(name, () => ["/bin/sh", "-c", script], [/up/]);
}

/** A program that is up when it has printed these lines, whatever their order. */
function printingProgram(
	name: string,
	command: () => readonly string[],
	lines: readonly RegExp[],
): AnyProgram {
	return {
		name,
		usual: "`child_process.spawn`",
		start: async (pooled) => {
			const [executable = "", ...args] = command();
			if (pooled === undefined) {
				const child = spawn(executable, args, { stdio: "pipe" });
				let text = "";
				for await (const chunk of child.stdout) {
					text += chunk;
					if (lines.every((line) => line.test(text))) return;
				}
				throw new Error(`${name} ended: ${text}`);
			}
			const adapter: Adapter = {
				name: "printing",
				launch: () => ({ executable, args }),
				connect: async (worker, signal) => {
					for (const line of lines) await worker.line(line, "stdout", signal);
					return {
						execute: async () => undefined,
						[Symbol.asyncDispose]: async () => {},
					};
				},
			};
			await poolOf(adapter, pooled);
		},
	};
}

/** A pool of one worker that reports the facts of its run that the harness needs. */
async function poolOf<Client>(
	adapter: Adapter<Client>,
	{ dataDir, protections }: Pooled,
): Promise<Pool<never, Client>> {
	return await createPool({
		...{ adapter, dataDir, size: 1, callsPerWorker: 2 },
		start: { timeoutMs: 110_000 },
		output: { echo: "none" },
		...protectionsOf(protections),
		onEvent: (event) => {
			if (event.type === "run.started" || event.type === "protection.started")
				console.log(JSON.stringify({ [event.type]: event }));
		},
	});
}

const chosen = process.env["CHAOS_PROGRAM"];
if (chosen !== undefined) {
	const { name, isPooled } = JSON.parse(chosen);
	const pooled: Pooled = JSON.parse(process.argv[2] ?? "{}");
	const program = PROGRAMS.find((each) => each.name === name);
	await program?.start(isPooled ? pooled : undefined);
	console.log(JSON.stringify({ up: name }));
	setInterval(() => {}, 60_000);
}
