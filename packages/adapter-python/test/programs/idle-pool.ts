// A program that opens a pool, calls, streams and asks a worker, and then has nothing more to do: it never closes the pool.
import { createPool } from "@snakepit/core";
import { python } from "../../src/index.ts";

const [tools = "", program = "", dataDir = ""] = process.argv.slice(2);
const pool = await createPool({
	// Nor does what watches the tools.
	adapter: python({ tools, python: program, watch: true }),
	size: 2,
	dataDir,
});
const sum = await pool.execute("add", { a: 1, b: 1 });
const items: unknown[] = [];
for await (const item of pool.stream("count", { below: 3 })) items.push(item);
const latency = await pool.ping(pool.workers()[0]?.workerId ?? "");
process.stdout.write(`${JSON.stringify([sum, items, typeof latency])}\n`);
