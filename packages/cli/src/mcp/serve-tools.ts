import { Console } from "node:console";
import { CommandFailed } from "../command/command-failed.ts";
import { outputFailed } from "../command/output-failed.ts";
import { loadPeers } from "../command/peer-packages.ts";
import { tokenIn } from "./token-file.ts";

/** How tools are served. */
export interface McpFlags {
	readonly python?: string;
	readonly workers: number;
	readonly name?: string;
	readonly http?: number;
	readonly tokenFile?: string;
	readonly tracebacks?: boolean;
	readonly dataDir?: string;
}

/** Serves the tools of a file until the client ends. */
export async function serveTools(file: string, flags: McpFlags): Promise<void> {
	const { http: port, tokenFile, tracebacks, name, python: path } = flags;
	if ((port === undefined) !== (tokenFile === undefined))
		throw new CommandFailed("usage", "Use --http and --token-file together.");
	// Standard output carries only the protocol.
	globalThis.console = new Console(process.stderr);
	// The server closes in order when its client is gone.
	process.stdout.off("error", outputFailed);
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
		console.error(`Serving ${serving.url} with the token in ${tokenFile}.`);
	await serving.closed;
}

/** Users who only run commands do not need to install them. */
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
