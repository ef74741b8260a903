// A host whose workers do not start. Its arguments are the directory of the ledger, and the file of the tools; without one,
// its pool closes while killed workers are started again.
import { python } from "@snakepit/adapter-python";
import { lines } from "@snakepit/adapter-stdio";
import { createPool } from "@snakepit/core";

const [, , dataDir, tools] = process.argv;
const quiet = { dataDir, output: { echo: "none" } } as const;
if (tools !== undefined)
	await createPool({
		...{ ...quiet, name: "models", size: 1, adapter: python({ tools }) },
	});
const pool = await createPool({
	...{ ...quiet, name: "arg", size: 4, adapter: lines({ command: ["cat"] }) },
});
let restarts = 0;
const restarting = Promise.withResolvers<void>();
pool.on("worker.starting", () => {
	if (++restarts === 4) restarting.resolve();
});
for (const { pid } of pool.workers()) process.kill(pid ?? 0, "SIGKILL");
// An idle pool holds no program open.
const open = setInterval(() => {}, 2 ** 30);
await restarting.promise;
clearInterval(open);
await pool.close();
