import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { type Address, originOf } from "./listening.ts";
import type { WorkerServer } from "./worker-server.ts";

/** One worker's server, for code that speaks HTTP itself. */
export interface HttpClient {
	/**
	 * As the global `fetch`, for this worker alone: a path, or an address below `origin`. A redirect is not followed.
	 * Give it to clients that take a `fetch`.
	 */
	readonly fetch: (
		input: string | URL | Request,
		init?: RequestInit,
	) => Promise<Response>;
	/** `http://127.0.0.1:PORT`; `http://localhost` behind a Unix socket. */
	readonly origin: string;
	/** For clients that connect to Unix sockets themselves; `undefined` if the worker listens on a port. */
	readonly socketPath: string | undefined;
}

export function httpClient(server: WorkerServer): HttpClient {
	const { address } = server;
	const origin = originOf(address);
	return {
		origin,
		socketPath: socketPathOf(address),
		fetch: async (input, init) => {
			const request = new Request(
				typeof input === "string" ? new URL(input, origin) : input,
				init,
			);
			const url = new URL(request.url);
			if (url.origin !== origin)
				throw new TypeError(
					`fetch: this client can reach only its worker at ${origin}, not ${url.origin}.`,
				);
			const { method, signal } = request;
			const path = `${url.pathname}${url.search}`;
			try {
				const response = await server.send(
					{
						...{ method, path },
						headers: Object.fromEntries(request.headers),
						body: await bodyOf(request, init),
					},
					signal,
				);
				signal.addEventListener("abort", () => response.destroy(signal.reason));
				return responseOf(response);
			} catch (error) {
				signal.throwIfAborted();
				const command = `${method} ${path}`;
				// If the worker is gone, the pool must know first.
				const cause = await server.failure(error, command, signal, "answered");
				throw new TypeError(`fetch failed: ${cause.message}`, { cause });
			}
		},
	};
}

function socketPathOf(address: Address): string | undefined {
	return address.kind === "unix" ? address.socketPath : undefined;
}

/** A body with a length, which every server understands, unless it is a stream. */
async function bodyOf(
	request: Request,
	init: RequestInit | undefined,
): Promise<Uint8Array | Readable | undefined> {
	if (request.body === null) return undefined;
	if (init?.body instanceof ReadableStream)
		return Readable.fromWeb(request.body as never);
	return new Uint8Array(await request.arrayBuffer());
}

/** Source: https://fetch.spec.whatwg.org/#null-body-status */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

function responseOf(response: IncomingMessage): Response {
	const { statusCode: status = 0, statusMessage = "", rawHeaders } = response;
	const headers = new Headers();
	for (let at = 0; at < rawHeaders.length; at += 2)
		headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string);
	const isEmpty = WITHOUT_BODY.includes(status);
	if (isEmpty) response.resume();
	return new Response(isEmpty ? null : (Readable.toWeb(response) as never), {
		...{ status, statusText: statusMessage, headers },
	});
}
