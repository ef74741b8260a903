import { Console } from "node:console";
import type { Command } from "commander";
import { CommandFailed } from "../command/command-failed.ts";
import { inFlags } from "../command/in-flags.ts";
import { portNumber, positiveNumber } from "../command/numbers.ts";
import { loadPeers } from "../command/peer-packages.ts";
import { tokenIn } from "./token-file.ts";

interface McpFlags {
	readonly python?: string;
	readonly workers: number;
	readonly name?: string;
	readonly http?: number;
	readonly tokenFile?: string;
	readonly tracebacks?: boolean;
	readonly dataDir?: string;
}

/** Adds `snakepit mcp TOOLS.PY`. */
export function addMcp(program: Command): void {
	program
		.command("mcp")
		.argument("<file>", "the tools, such as tools.py")
		.description(
			"serve Python tools to MCP clients, over standard input and output or HTTP",
		)
		.option(
			"--python <path>",
			"the interpreter; found like that of python() by default",
		)
		.option(
			"--workers <number>",
			"how many calls run at once",
			positiveNumber,
			1,
		)
		.option("--name <name>", "how the server introduces itself")
		.option(
			"--http <port>",
			"over HTTP on 127.0.0.1, 0 for a free port",
			portNumber,
		)
		.option(
			"--token-file <path>",
			"the token that HTTP clients bring; made if it does not exist",
		)
		.option("--tracebacks", "clients get Python's tracebacks")
		.option(
			"--data-dir <path>",
			"where the ledger is; the user's state directory by default",
		)
		.action((file: string, flags: McpFlags) => inFlags(serve(file, flags)));
}

async function serve(file: string, flags: McpFlags): Promise<void> {
	const { http: port, tokenFile, tracebacks, name, python: path } = flags;
	if ((port === undefined) !== (tokenFile === undefined))
		throw new CommandFailed(
			"usage",
			"--http and --token-file need each other.",
		);
	// Standard output belongs to the protocol.
	globalThis.console = new Console(process.stderr);
	const { python, createPool, serveMcp } = await load();
	const adapter = python({ tools: file, python: path });
	await using pool = await createPool({
		adapter,
		size: flags.workers,
		dataDir: flags.dataDir,
	});
	await using serving = await serveMcp(pool, {
		tools: await adapter.describe(),
		name,
		tracebacks,
		http:
			port === undefined || tokenFile === undefined
				? undefined
				: { port, token: tokenIn(tokenFile) },
	});
	if (serving.url !== undefined)
		console.error(`Serving ${serving.url}; the token is in ${tokenFile}.`);
	await serving.closed;
}

/** Whoever only runs commands does not install them. */
function load() {
	const names = ["adapter-python", "adapter-mcp"].map(
		(name) => `@snakepit/${name}`,
	);
	return loadPeers([...names, "@modelcontextprotocol/sdk"], async () => {
		const { createPool } = await import("@snakepit/core");
		const { python } = await import("@snakepit/adapter-python");
		const { serveMcp } = await import("@snakepit/adapter-mcp/server");
		return { createPool, python, serveMcp };
	});
}
