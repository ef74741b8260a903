// A host with Python workers, for the dashboard to look at: prints its run's id when its pools are open, makes the calls that
// its input asks for, one a line, and ends with it. It can be asked to tell how it sees itself (`tell`), and to block its
// event loop until there is a file (`blockUntil`). Argument: { executable, run, pools: [{ tools, ...options }] }.
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { python } from "@snakepit/adapter-python";
import { openRun, type Pool, type SnakepitEvent } from "@snakepit/core";

const { executable, run, pools } = JSON.parse(process.argv[2] ?? "{}");
const events: SnakepitEvent[] = [];
await using opened = await openRun({
	...run,
	onEvent: (event) => {
		if (/^(registry|host)\./.test(event.type)) events.push(event);
	},
});
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
	const { pool, command, args, times, tell, blockUntil } = JSON.parse(line);
	if (tell) {
		const health = made.get(pool)?.health();
		const metrics = made.get(pool)?.metricsText();
		console.log(JSON.stringify({ health, metrics, events }));
	}
	while (blockUntil !== undefined && !existsSync(blockUntil));
	for (let n = 0; n < times; n++)
		made
			.get(pool)
			?.execute(command, args)
			.catch(() => {});
}
