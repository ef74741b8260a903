// A host with Python workers, for the dashboard to look at: prints its run's id when its pools are open, makes the calls that
// its input asks for, one a line, and ends with it. Argument: { executable, run, pools: [{ tools, ...options }] }.
import { createInterface } from "node:readline";
import { python } from "@snakepit/adapter-python";
import { openRun, type Pool } from "@snakepit/core";

const { executable, run, pools } = JSON.parse(process.argv[2] ?? "{}");
await using opened = await openRun(run);
const made = new Map<string, Pool>();
for (const { tools, ...options } of pools) {
	const adapter = python({ tools, python: executable });
	const output = { echo: "none" } as const;
	const pool = await opened.createPool({
		size: 2,
		output,
		...options,
		adapter,
	});
	made.set(options.name, pool);
}
console.log(JSON.stringify({ runId: opened.runId }));
for await (const line of createInterface({ input: process.stdin })) {
	const { pool, command, args, times } = JSON.parse(line);
	for (let n = 0; n < times; n++)
		made
			.get(pool)
			?.execute(command, args)
			.catch(() => {});
}
