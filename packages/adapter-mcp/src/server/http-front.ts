import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
	createServer,
	type IncomingMessage,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isSameSecret, readBody } from "@snakepit/control/server";
import type { McpHttpOptions } from "./options.ts";
import type { Connect, McpServing } from "./serve-mcp.ts";

const ADDRESS = "127.0.0.1";
const PATH = "/mcp";
const MOST_BODY_BYTES = 2 ** 22;
/** A client that disconnects without notice leaves its session behind, so the least recently used session makes room. */
const MOST_SESSIONS = 100;

/** Serves clients on this machine that have the token; each session has its own server. */
export async function serveHttp(
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
