import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** A port of 127.0.0.1 that is free now. Another program may take it a moment later, so the owner of the port is checked before use. */
export async function freePort(): Promise<number> {
	const server = createServer().listen({
		port: 0,
		host: "127.0.0.1",
		exclusive: true,
	});
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	server.close();
	await once(server, "close");
	return port;
}
