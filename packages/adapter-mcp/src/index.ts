export { mcp } from "./mcp-adapter.ts";
export { mcpTransport } from "./mcp-transport.ts";
export type { McpHandler, McpOptions } from "./options.ts";
