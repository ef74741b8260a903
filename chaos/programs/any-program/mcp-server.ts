import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { type McpOptions, mcp } from "@snakepit/adapter-mcp";
import type { AnyProgram, Launcher } from "./launcher.ts";
import { pooled } from "./pooled.ts";

/** A server, idle or in a call that does not end. @param tool and its arguments. */
export function mcpServer(
	name: string,
	server: () => McpOptions & { readonly command: readonly string[] },
	tool?: readonly [string, Readonly<Record<string, unknown>>],
): AnyProgram {
	return {
		name: `${name}, ${tool === undefined ? "idle" : "in a call"}`,
		usual: "the official `StdioClientTransport`",
		start: async (launcher) =>
			await (launcher.kind === "usual"
				? startUsually(server(), tool)
				: startPooled(server(), tool, launcher)),
	};
}

async function startUsually(
	server: ReturnType<Parameters<typeof mcpServer>[1]>,
	tool: Parameters<typeof mcpServer>[2],
): Promise<void> {
	const [command = "", ...args] = server.command;
	const client = new Client({ name: "chaos", version: "1.0.0" });
	const env = { ...process.env, ...server.env } as Record<string, string>;
	await client.connect(
		new StdioClientTransport({
			...{ command, args, env, stderr: "ignore" },
			...(server.cwd !== undefined && { cwd: server.cwd }),
		}),
	);
	if (tool !== undefined)
		client.callTool({ name: tool[0], arguments: tool[1] }).catch(() => {});
	// Requests are read in order, so the call has begun now.
	await client.ping();
}

async function startPooled(
	server: McpOptions,
	tool: Parameters<typeof mcpServer>[2],
	launcher: Launcher & { readonly kind: "pool" },
): Promise<void> {
	const pool = await pooled(mcp({ ...server, inheritEnv: "all" }), launcher);
	if (tool !== undefined)
		pool.use((client) =>
			client.callTool({ name: tool[0], arguments: tool[1] }),
		);
	await pool.use((client) => client.ping());
}
