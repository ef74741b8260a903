// A host that ends badly. Its arguments are the directory of the ledger, and how.
import { lines } from "@snakepit/adapter-stdio";
import { createPool } from "@snakepit/core";

const [, , dataDir, how] = process.argv;

function bill(): never {
	throw new RangeError("no such customer: 17");
}

const pool = await createPool({
	adapter: lines({
		command: [how === "no program" ? "/no/such/program" : "cat"],
	}),
	...{ name: "bills", size: 1, dataDir, output: { echo: "none" } },
});
if (how === "exit") process.exit(7);
if (how === "lives") {
	console.log("up");
	for await (const _ of process.stdin);
	process.exit(0);
}
if (how === "SIGTERM") {
	setInterval(() => {}, 2 ** 30);
	process.kill(process.pid, how);
	await new Promise(() => {});
}
if (how === "paused") {
	pool.pause({ by: "the night shift" });
	await pool.close();
} else bill();
