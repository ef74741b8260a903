import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What a receiver got. */
export interface Request {
	readonly path: string | undefined;
	readonly headers: IncomingMessage["headers"];
	readonly bytes: number;
}

/** A receiver on loopback that answers every request with one status, or never; gone when the test is finished. */
export async function receiver(
	status: number | "never",
): Promise<{ readonly url: string; readonly requests: Request[] }> {
	const requests: Request[] = [];
	const server = createServer(async (request, response) => {
		let bytes = 0;
		for await (const chunk of request) bytes += (chunk as Buffer).length;
		requests.push({ path: request.url, headers: request.headers, bytes });
		if (status !== "never") response.writeHead(status).end();
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	return { url: `http://127.0.0.1:${port}`, requests };
}

/** Where nobody listens: a port that was free a moment ago. */
export async function nowhere(): Promise<string> {
	const server = createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	server.close();
	await once(server, "close");
	return `http://127.0.0.1:${port}`;
}
