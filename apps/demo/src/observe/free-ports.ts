import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/**
 * Finds ports of loopback on which nobody listens, all different. Somebody else
 * may take one before it is used.
 */
export async function freePorts(howMany: number): Promise<readonly number[]> {
	// All are held until the last is there: so none comes twice.
	const servers = Array.from({ length: howMany }, () => createServer());
	try {
		return await Promise.all(
			servers.map(async (server) => {
				await once(server.listen(0, "127.0.0.1"), "listening");
				return (server.address() as AddressInfo).port;
			}),
		);
	} finally {
		await Promise.all(
			servers.map(async (server) => {
				if (server.listening) await once(server.close(), "close");
			}),
		);
	}
}
