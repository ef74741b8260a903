import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
	createServer,
	type IncomingMessage,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { isSameSecret, readBody } from "@snakepit/control/server";
import type { Pool } from "@snakepit/core";
import { jsonLine } from "@snakepit/core/adapter";
import { toolServer } from "./call-tool.ts";
import {
	checkServeOptions,
	type McpHttpOptions,
	type ServeMcpOptions,
} from "./options.ts";

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
type Connect = (transport: Transport, whenClosed: () => void) => Promise<void>;

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

const ADDRESS = "127.0.0.1";
const PATH = "/mcp";
const MOST_BODY_BYTES = 2 ** 22;
/** A client that disconnects without notice leaves its session behind, so the least recently used session makes room. */
const MOST_SESSIONS = 100;

/** Serves clients on this machine that have the token; each session has its own server. */
async function serveHttp(
	connect: Connect,
	{ token, port = 0 }: McpHttpOptions,
): Promise<McpServing & { readonly url: string }> {
	const sessions = new Map<string, StreamableHTTPServerTransport>();
	const listener = createServer((request, response) => {
		answer(request, response).catch((error: Error) => {
			if (response.headersSent) response.destroy();
			else refuse(response, 400, error.message);
		});
	});
	listener.listen(port, ADDRESS);
	await once(listener, "listening");
	const { port: bound } = listener.address() as AddressInfo;
	const hosts = [`${ADDRESS}:${bound}`, `localhost:${bound}`];

	async function answer(
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<void> {
		const { authorization = "", host = "", origin } = request.headers;
		// A foreign web page can reach this port under its own host name (DNS rebinding).
		if (!hosts.includes(host))
			return refuse(response, 403, "This host is not served here.");
		if (origin !== undefined && !hosts.includes(origin.replace("http://", "")))
			return refuse(response, 403, "This origin is not served here.");
		if (!isSameSecret(authorization, `Bearer ${token}`)) {
			response.setHeader("WWW-Authenticate", "Bearer");
			return refuse(response, 401, "The bearer token is missing or wrong.");
		}
		if (request.url !== PATH)
			return refuse(response, 404, `The path is ${PATH}.`);
		const body =
			request.method === "POST"
				? await readBody(request, MOST_BODY_BYTES)
				: undefined;
		if (body?.kind === "incomplete") return void response.destroy();
		if (body?.kind === "too_large") {
			response.shouldKeepAlive = false;
			return refuse(
				response,
				413,
				`A request has at most ${MOST_BODY_BYTES} bytes.`,
			);
		}
		const id = request.headers["mcp-session-id"];
		const session =
			id === undefined ? await opened() : sessions.get(String(id));
		if (session === undefined)
			return refuse(response, 404, "This session has ended.");
		if (id !== undefined) use(String(id), session);
		await session.handleRequest(
			request,
			response,
			body && JSON.parse(body.text),
		);
		// A conversation that did not begin with `initialize` was refused, and is not a session.
		if (session.sessionId === undefined) await session.close();
	}

	/** It gets its id when the client initializes, and refuses everything else before that. */
	async function opened(): Promise<StreamableHTTPServerTransport> {
		const transport = new StreamableHTTPServerTransport({
			sessionIdGenerator: randomUUID,
			onsessioninitialized: (id) => use(id, transport),
		});
		await connect(transport as Transport, () => {
			if (transport.sessionId !== undefined)
				sessions.delete(transport.sessionId);
		});
		return transport;
	}

	function use(id: string, session: StreamableHTTPServerTransport): void {
		sessions.delete(id);
		sessions.set(id, session);
		const [oldest] = sessions.values();
		if (sessions.size > MOST_SESSIONS) oldest?.close();
	}

	const closed = once(listener, "close").then(() => {});
	const close = async (): Promise<void> => {
		if (!listener.listening) return closed;
		listener.close();
		await Promise.all([...sessions.values()].map((each) => each.close()));
		listener.closeAllConnections();
		return closed;
	};
	const url = `http://${ADDRESS}:${bound}${PATH}`;
	return { url, closed, close, [Symbol.asyncDispose]: close };
}

function refuse(response: ServerResponse, status: number, why: string): void {
	response.writeHead(status, { "Content-Type": "text/plain" }).end(`${why}\n`);
}

/** Sends the log records of a pool's workers to every client, from the level on that the client has set. */
class LogSenders {
	private readonly servers = new Set<Server>();
	private readonly unsubscribe: () => void;

	constructor(pool: Pool) {
		this.unsubscribe = pool.on("worker.logged", ({ record }) => {
			const { level, logger, message } = record;
			for (const server of this.servers)
				server
					.sendLoggingMessage(
						{ level, logger, data: message },
						server.transport?.sessionId,
					)
					// The client has disconnected and does not need it.
					.catch(() => {});
		});
	}

	/** Adds the server of a client; returns what removes it. */
	add(server: Server): () => void {
		this.servers.add(server);
		return () => this.servers.delete(server);
	}

	end(): void {
		this.unsubscribe();
		this.servers.clear();
	}
}
