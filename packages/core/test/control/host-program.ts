// A host whose run can be looked at: prints a line when its pool is open, makes the calls that its input asks for, and
// ends with it. Argument: the options of the run.
import { createInterface } from "node:readline";
import { createPool } from "../../src/run/open-run.ts";
import type { RunOptions } from "../../src/run/run-options.ts";
import { lineAdapter } from "./line-adapter.ts";

const options = JSON.parse(process.argv[2] ?? "{}") as RunOptions;
const pool = await createPool({
	...{ name: "lines", adapter: lineAdapter(), size: 2, heartbeat: "off" },
	observe: {
		args: (command, args) => (command === "sleep" ? { for: args } : undefined),
	},
	...{ output: { echo: "none" }, ...options },
});

console.log(JSON.stringify({ runId: pool.runId }));
for await (const line of createInterface({ input: process.stdin })) {
	const { command, args } = JSON.parse(line);
	pool.execute(command, args).catch(() => {});
}
await pool.close();
