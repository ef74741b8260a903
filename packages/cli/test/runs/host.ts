// A host with workers that wait, until its input ends. Its arguments are the directory of the ledger and how many.
import { lines } from "@snakepit/adapter-stdio";
import { createPool } from "@snakepit/core";

const [, , dataDir, size] = process.argv;
await using _pool = await createPool({
	adapter: lines({ command: ["cat"] }),
	name: "waiting",
	size: Number(size),
	dataDir,
});
console.log("up");
for await (const _ of process.stdin);
