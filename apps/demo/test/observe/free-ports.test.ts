import { once } from "node:events";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../src/observe/free-ports.ts";

test("ports are all different, and one can listen on each", async () => {
	const ports = await freePorts(5);
	expect(new Set(ports).size).toBe(5);
	for (const port of ports) {
		const server = createServer().listen(port, "127.0.0.1");
		onTestFinished(() => void server.close());
		await once(server, "listening");
	}
});
