import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { EventWriter } from "../../src/dash/run-routes.ts";

test("a page that has gone before its run was attached to is not followed for", async () => {
	const server = createServer();
	onTestFinished(() => void server.close());
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const page = connect(port, "127.0.0.1");
	page.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	const [, response] = (await once(server, "request")) as [
		unknown,
		ServerResponse,
	];
	page.destroy();
	await once(response, "close");
	const writer = new EventWriter(response);
	if (!writer.gone.aborted) await once(writer.gone, "abort");
	writer.write("a", {});
	await writer.drained();
	expect(writer.gone.aborted).toBe(true);
});
