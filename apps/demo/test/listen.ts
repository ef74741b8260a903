import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { onTestFinished } from "vitest";

/** Has a server listen on loopback until the test is finished, and returns its URL. */
export async function listen(server: Server): Promise<string> {
	server.listen(0, "127.0.0.1");
	onTestFinished(() => void server.close());
	await once(server, "listening");
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the URL of a port on which no program listens. */
export async function closedPort(): Promise<string> {
	const server = createServer();
	const url = await listen(server);
	server.close();
	await once(server, "close");
	return url;
}
