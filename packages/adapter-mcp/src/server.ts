// Tools of a pool, served to MCP clients.
export type {
	McpHttpOptions,
	ServedTool,
	ServeMcpOptions,
} from "./server/options.ts";
export { type McpServing, serveMcp } from "./server/serve-mcp.ts";
