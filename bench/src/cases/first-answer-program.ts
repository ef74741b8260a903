import { writeSync } from "node:fs";

// A program of a user, with the packages as they are published. Its arguments: a Python, a file of tools, and where the
// ledger is. Reports what it took from its first line to the first answer, in milliseconds.
const begunMs = performance.now();
const begun = process.cpuUsage();
const { createPool } = await import("@snakepit/core");
const { python } = await import("@snakepit/adapter-python");
const [interpreter = "", tools = "", dataDir] = process.argv.slice(2);
const pool = await createPool({
	adapter: python({ python: interpreter, tools }),
	size: 1,
	...(dataDir !== undefined && { dataDir }),
});
await pool.execute("echo", ["x"]);
const first_answer_ms = performance.now() - begunMs;
const { user, system } = process.cpuUsage(begun);
writeSync(
	1,
	JSON.stringify({ first_answer_ms, host_cpu_ms: (user + system) / 1_000 }),
);
await pool.close();
