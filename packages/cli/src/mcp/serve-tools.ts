import { Console } from "node:console";
import { randomBytes } from "node:crypto";
import {
	closeSync,
	fstatSync,
	openSync,
	readFileSync,
	writeFileSync,
} from "node:fs";
import { CommandFailed, outputFailed } from "../command/failures.ts";
import { loadPeers } from "../command/packages.ts";

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

const TOKEN_BYTES = 32;
const SHORTEST_TOKEN = 32;
const TOKEN = new RegExp(`^[\\x21-\\x7e]{${SHORTEST_TOKEN},}$`);
const OTHERS = 0o077;

/** The token in a file that no other user may read. Creates the file if there is none. */
function tokenIn(path: string): string {
	try {
		const token = randomBytes(TOKEN_BYTES).toString("hex");
		writeFileSync(path, `${token}\n`, { flag: "wx", mode: 0o600 });
		return token;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
	}
	const file = openSync(path, "r");
	try {
		if ((fstatSync(file).mode & OTHERS) !== 0)
			throw new CommandFailed(
				"failed",
				`Other users can read ${path}. Run: chmod 600 ${path}`,
			);
		const token = readFileSync(file, "utf8").trim();
		if (!TOKEN.test(token))
			throw new CommandFailed(
				"failed",
				`The token in ${path} must be ${SHORTEST_TOKEN} visible ASCII characters or more. Write another one, or remove the file: then a new one is created.`,
			);
		return token;
	} finally {
		closeSync(file);
	}
}
