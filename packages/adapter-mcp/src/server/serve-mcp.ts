import { once } from "node:events";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { Pool } from "@snakepit/core";
import { jsonLine } from "@snakepit/core/adapter";
import { serveHttp } from "./http-front.ts";
import { LogSenders } from "./log-senders.ts";
import { checkServeOptions, type ServeMcpOptions } from "./options.ts";
import { toolServer } from "./tool-server.ts";

/** A server that runs. */
export interface McpServing extends AsyncDisposable {
	/** Where clients connect; `undefined` over standard input and output. */
	readonly url: string | undefined;
	/** Resolves when no client can connect any more: after `close`, or when standard input has ended. */
	readonly closed: Promise<void>;
	/** Closes it, and cancels the calls of its clients. The pool stays open. */
	close(): Promise<void>;
}

/** Connects a client to its server; `whenClosed` is called at the end of the connection. */
export type Connect = (
	transport: Transport,
	whenClosed: () => void,
) => Promise<void>;

/**
 * Serves the tools of a pool to MCP clients, over standard input and output or Streamable HTTP.
 *
 * A result is a text, JSON unless the tool returns a text; bytes are base64. If the client asks for progress, it gets
 * the tool's reports and each chunk of a stream; the chunks are also part of the result. Log records of workers are
 * sent as notifications. If the server uses standard output, the rest of the program must not write there.
 *
 * @throws OptionsError; the system's error if the port is not free.
 */
export async function serveMcp(
	pool: Pool,
	options: ServeMcpOptions,
): Promise<McpServing> {
	checkServeOptions(options);
	const logs = new LogSenders(pool);
	const connect: Connect = async (transport, whenClosed) => {
		const server = toolServer(pool, options);
		const forget = logs.add(server);
		server.onclose = () => {
			forget();
			whenClosed();
		};
		await server.connect(transport);
	};
	const serving = await (options.http === undefined
		? serveStdio(connect)
		: serveHttp(connect, options.http));
	serving.closed.then(() => logs.end());
	return serving;
}

async function serveStdio(connect: Connect): Promise<McpServing> {
	const { promise: closed, resolve } = Promise.withResolvers<void>();
	const transport = new LineTransport();
	const close = (): Promise<void> => transport.close();
	await connect(transport, resolve);
	// The SDK's transport does not notice that its client has ended.
	process.stdin.once("end", close).once("close", close);
	process.stdout.once("error", close);
	return { url: undefined, closed, close, [Symbol.asyncDispose]: close };
}

/** As the SDK's transport, which writes characters that Node's `readline` takes for the end of a line. */
class LineTransport extends StdioServerTransport {
	override async send(message: JSONRPCMessage): Promise<void> {
		if (!process.stdout.write(`${jsonLine(message)}\n`))
			await once(process.stdout, "drain");
	}
}
