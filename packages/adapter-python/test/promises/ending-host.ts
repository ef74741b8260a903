// A host program for tests that ends in the way its one argument says.
import { createPool } from "@snakepit/core";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

interface Orders {
	readonly dataDir: string;
	readonly ending: "awaits a call" | "exits with a stray" | "closes its pool";
}

const orders: Orders = JSON.parse(process.argv[2] ?? "{}");
const tell = (fact: object): void => {
	process.stdout.write(`${JSON.stringify(fact)}\n`);
};
const pool = await createPool({
	adapter: python({
		python: PYTHON,
		tools: new URL("./tools.py", import.meta.url),
	}),
	size: 2,
	dataDir: orders.dataDir,
	onSignal: orders.ending === "closes its pool" ? "ignore" : "end",
	output: { echo: "none" },
	onEvent: (event) => {
		if (event.type === "run.started") tell({ runId: event.runId });
		if (event.type === "run.ended") tell({ ended: event.clean });
	},
});
await pool.execute("ready");
const alive = setInterval(() => {}, 60_000);
if (orders.ending === "closes its pool")
	process.once("SIGTERM", async () => {
		tell({ answer: await pool.execute("ready") });
		await pool.close();
		clearInterval(alive);
	});
tell({ ready: true });
if (orders.ending === "awaits a call") await pool.execute("sleep");
if (orders.ending === "exits with a stray") {
	await pool.execute("with_a_stray");
	process.exit(7);
}
