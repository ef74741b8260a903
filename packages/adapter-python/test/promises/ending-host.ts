// A host program for tests that ends in the way its one argument says.
import { createPool, withPool } from "@snakepit/core";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

interface Orders {
	readonly dataDir: string;
	readonly ending:
		| "idle"
		| "stays"
		| "exit"
		| "throws"
		| "rejects"
		| "busy"
		| "script"
		| "failing script"
		| "exit with a stray"
		| "closes its pool itself";
}

const orders: Orders = JSON.parse(process.argv[2] ?? "{}");
const tell = (fact: object): void => {
	process.stdout.write(`${JSON.stringify(fact)}\n`);
};
const options = {
	adapter: python({
		python: PYTHON,
		tools: new URL("./tools.py", import.meta.url),
	}),
	size: 2,
	dataDir: orders.dataDir,
	onSignal:
		orders.ending === "closes its pool itself"
			? ("ignore" as const)
			: ("end" as const),
	output: { echo: "none" as const },
	onEvent: (event: import("@snakepit/core").SnakepitEvent) => {
		if (event.type === "run.started") tell({ runId: event.runId });
		if (event.type === "run.ended") tell({ ended: event.clean });
	},
};

if (orders.ending === "script" || orders.ending === "failing script") {
	await withPool(options, async (pool) => {
		tell({ answer: await pool.execute("ready") });
		if (orders.ending === "failing script") throw new Error("on purpose");
	});
} else {
	const pool = await createPool(options);
	await pool.execute("ready");
	tell({ ready: true });
	switch (orders.ending) {
		case "idle":
			break; // Nothing is left to do: the program ends by itself.
		case "stays":
			setInterval(() => {}, 60_000);
			break;
		case "busy":
			await pool.execute("sleep");
			break;
		case "exit with a stray":
			await pool.execute("with_a_stray");
			process.exit(7);
			break;
		case "exit":
			process.exit(7);
			break;
		case "throws":
			setImmediate(() => {
				throw new Error("on purpose");
			});
			setInterval(() => {}, 60_000);
			break;
		case "closes its pool itself": {
			const alive = setInterval(() => {}, 60_000);
			process.once("SIGTERM", async () => {
				tell({ answer: await pool.execute("ready") });
				await pool.close();
				clearInterval(alive);
			});
			break;
		}
		case "rejects":
			void Promise.reject(new Error("on purpose"));
			setInterval(() => {}, 60_000);
	}
}
