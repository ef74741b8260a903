/** A server with the habits that the adapter contract has cases for. */
import { closeSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
	CallToolRequestSchema,
	ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const said = (text: string) => ({ content: [{ type: "text", text }] });
const never = () => new Promise<never>(() => {});
const frame = (message: object) =>
	`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;

type Tool = (id: string | number) => object | Promise<object>;
const tools: Readonly<Record<string, Tool>> = {
	echo: () => said("here"),
	stray: () => {
		process.stdout.write("not of the protocol\n");
		return said("answered");
	},
	/** Ends its output, and runs on. */
	mute: () => {
		closeSync(1);
		return never();
	},
	/** Ends with its answer, which comes with a notification. */
	finish: (id) => {
		const params = { level: "info", data: "ending" };
		process.stdout.write(
			frame({ method: "notifications/message", params }) +
				frame({ id, result: said("x".repeat(200_000)) }),
			() => process.exit(0),
		);
		return never();
	},
	/** Takes its time when its input ends. */
	linger: () => {
		process.stdin.on("end", () => setTimeout(() => {}, 300));
		return said("");
	},
};

const server = new Server(
	{ name: "habits", version: "1" },
	{ capabilities: { tools: {} } },
);
const inputSchema = { type: "object" } as const;
server.setRequestHandler(ListToolsRequestSchema, () => ({
	tools: Object.keys(tools).map((name) => ({ name, inputSchema })),
}));
server.setRequestHandler(CallToolRequestSchema, ({ params }, { requestId }) =>
	Promise.resolve(tools[params.name]?.(requestId) ?? said("no such tool")),
);
await server.connect(new StdioServerTransport());
