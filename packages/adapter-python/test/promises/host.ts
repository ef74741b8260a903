// A host program for tests: opens a pool and does what its one argument says.
import { createPool } from "@snakepit/core";
import { type PythonOptions, python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

interface Orders {
	readonly dataDir: string;
	readonly size: number;
	/** Called on every worker before the host says that it is ready; awaited. */
	readonly first?: string;
	/** Each called on a worker of its own, not awaited. */
	readonly afterwards?: readonly string[];
	/** So many bytes go there and back on every worker, again and again, from before the host is ready. */
	readonly echoed?: number;
	/** Further options of the adapter. */
	readonly adapter?: Partial<PythonOptions>;
}

const orders: Orders = JSON.parse(process.argv[2] ?? "{}");
const tell = (fact: object): void => {
	process.stdout.write(`${JSON.stringify(fact)}\n`);
};

const pool = await createPool({
	adapter: python({
		python: PYTHON,
		tools: new URL("./tools.py", import.meta.url).pathname,
		...orders.adapter,
	}),
	size: orders.size,
	dataDir: orders.dataDir,
	output: { echo: "none" },
	onEvent: (event) => {
		if (event.type === "run.started") tell({ runId: event.runId });
		if (event.type === "preload.started") tell({ preloaded: event.pid });
		if (event.type === "worker.spawned") tell({ spawned: event.pid });
	},
});
const everywhere = (command: string): readonly Promise<unknown>[] =>
	Array.from({ length: orders.size }, () => pool.execute(command));
if (orders.first !== undefined)
	tell({ first: await Promise.all(everywhere(orders.first)) });
for (const command of orders.afterwards ?? [])
	pool.execute(command).catch(() => {});
if (orders.echoed !== undefined) {
	const bytes = new Uint8Array(orders.echoed);
	await Promise.all(
		Array.from({ length: orders.size }, async () => {
			await pool.execute("echo", [bytes]);
			void (async () => {
				for (;;) await pool.execute("echo", [bytes]);
			})();
		}),
	);
}
tell({ ready: pool.workers().map(({ pid }) => pid) });
setInterval(() => {}, 60_000); // Stays until it is ended.
