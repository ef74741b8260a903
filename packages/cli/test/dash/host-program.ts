// A host with Python workers, for the dashboard to look at: prints its run's id when its pool is open, makes the calls that
// its input asks for, one a line, and ends with it. Argument: { tools, python, run, pool }.
import { createInterface } from "node:readline";
import { python } from "@snakepit/adapter-python";
import { openRun } from "@snakepit/core";

const { tools, executable, run, pool } = JSON.parse(process.argv[2] ?? "{}");
await using opened = await openRun(run);
const made = await opened.createPool({
	...{ name: "tools", size: 2, output: { echo: "none" } },
	...pool,
	adapter: python({ tools, python: executable }),
});
console.log(JSON.stringify({ runId: opened.runId }));
for await (const line of createInterface({ input: process.stdin })) {
	const { command, args, times = 1 } = JSON.parse(line);
	for (let n = 0; n < times; n++) made.execute(command, args).catch(() => {});
}
