import { serveMcp } from "@snakepit/adapter-mcp/server";
import { python } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import type { Tools } from "./tools.ts";

const adapter = python({ tools: new URL("./tools.py", import.meta.url) });
const pool = await createPool<Tools>({ adapter, size: 2 });

// The server speaks over standard output until the client ends, so print only to standard error.
const { closed } = await serveMcp(pool, { tools: await adapter.describe() });
await closed;
await pool.close();
