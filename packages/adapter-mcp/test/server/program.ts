// Serves tools.py over standard input and output. Its argument is the directory of the ledger.
import { fileURLToPath } from "node:url";
import { serveMcp } from "@snakepit/adapter-mcp/server";
import { python } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";

const adapter = python({
	tools: new URL("./tools.py", import.meta.url),
	python: fileURLToPath(
		new URL("../../../../python/.venv/bin/python", import.meta.url),
	),
});
await using pool = await createPool({
	adapter,
	size: 2,
	dataDir: process.argv[2],
});
const { closed } = await serveMcp(pool, { tools: await adapter.describe() });
await closed;
