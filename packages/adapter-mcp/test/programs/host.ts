/** A host with a pool of one server, which may be in a call; prints a line when it is. Arguments: data directory, server, tool. */
import { createPool } from "@snakepit/core";
import { MARK } from "../../../../scripts/marked-host.ts";
import { mcp } from "../../src/index.ts";

const [dataDir, server = "{}", tool, args = "{}"] = process.argv.slice(2);
const pool = await createPool({
	dataDir,
	adapter: mcp({ ...JSON.parse(server), inheritEnv: [MARK] }),
	size: 1,
	callsPerWorker: 2,
	output: { echo: "none" },
});
if (tool) void pool.execute(tool, JSON.parse(args));
// Requests are read in their order.
await pool.use((client) => client.ping());
console.log("up");
setInterval(() => {}, 2 ** 30);
