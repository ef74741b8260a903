import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { python, pythonEnvironment } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import { embeddingServer } from "./embedding-server.ts";
import type { Tools } from "./gen/tools.ts";

/** The interpreter has numpy and the bridge, as the one that is made here has. */
const [port = "8080", interpreter] = process.argv.slice(2);
const requirements = [
	join(import.meta.dirname, "../../../python"),
	"numpy>=1.26",
];
await using pool = await createPool<Tools>({
	adapter: python({
		tools: join(import.meta.dirname, "../embedder.py"),
		python: interpreter,
		environment: interpreter ? undefined : pythonEnvironment({ requirements }),
	}),
	size: 1,
	// A batch that runs, and the next one.
	callsPerWorker: 2 * 32,
});
const server = embeddingServer(pool).listen(Number(port), "127.0.0.1");
await once(server, "listening");
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);

await once(process, "SIGTERM");
server.close();
await once(server, "close");
