// The host of every case: opens a pool as its one argument describes, reports
// events on standard output, and carries out the orders it reads on standard input.
import { createInterface } from "node:readline";
import { createPool, type SnakepitEvent } from "@snakepit/core";
import type { LivesReport, LivesWanted } from "./random-life/lives.ts";
import {
	type ProtectionName,
	protectionsOf,
	type WorkerOptions,
	workerAdapter,
} from "./worker-adapter.ts";

/** The one argument of this program, as JSON. */
export interface HostOptions extends WorkerOptions {
	readonly dataDir: string;
	readonly size: number;
	readonly protections: readonly ProtectionName[];
	/** Merged over the options of the pool; values that JSON can carry. */
	readonly pool?: Readonly<Record<string, unknown>>;
	/** Memory that the host touches before it starts anything, in megabytes. */
	readonly ballastMb?: number;
	/** Types of events to report, beside those that every case needs. */
	readonly events?: readonly string[];
}

/** The orders by name; the answer to each is its result or its error. */
export type Orders = typeof orders;

const options: HostOptions = JSON.parse(process.argv[2] ?? "{}");
const ballast = Buffer.alloc((options.ballastMb ?? 0) * 1024 * 1024, 1);
const reported = new Set([
	"run.started",
	"worker.spawned",
	"worker.exited",
	"orphan.reaped",
	"cleanup.finished",
	"preload.started",
	"preload.unavailable",
	"protection.started",
	"protection.unavailable",
	...(options.events ?? []),
]);
const orders = {
	/** Calls a tool so many times at once: by default, once for every worker. */
	call: async (
		tool: string,
		args: unknown = {},
		retries: number = 0,
		times: number = options.size,
	): Promise<void> => {
		const settings = { retry: { attempts: 1 + retries } };
		const call = () => pool.execute(tool, args, settings);
		await Promise.all(Array.from({ length: times }, call));
	},
	/** Megabytes that are held after a collection; needs `--expose-gc`. */
	heapMb: (): number => {
		globalThis.gc?.();
		const { heapUsed, external } = process.memoryUsage();
		return (heapUsed + external) / 2 ** 20;
	},
	/** Pools of their own that are used in every way at random. */
	lives: async (wanted: LivesWanted): Promise<LivesReport> => {
		// Not loaded by the hosts of other cases, which must start fast.
		const { liveAtRandom } = await import("./random-life/lives.ts");
		return await liveAtRandom(wanted, options.dataDir);
	},
	/** Blocks the event loop. */
	block: (ms: number): void => {
		const until = performance.now() + ms;
		while (performance.now() < until);
	},
};

function report(fact: object): void {
	process.stdout.write(`${JSON.stringify(fact)}\n`);
}

const pool = await createPool({
	adapter: workerAdapter(options),
	size: options.size,
	dataDir: options.dataDir,
	output: { echo: "none" },
	...protectionsOf(options.protections),
	...options.pool,
	onEvent: (event: SnakepitEvent) => {
		if (reported.has(event.type)) report({ [event.type]: event });
	},
}).catch((error) => {
	report({ refused: error.code ?? String(error), message: error.message });
	process.exit(3);
});
report({
	ready: pool.workers().map(({ pid }) => pid),
	ballast: ballast.length,
});

// The end of standard input does not end the program.
setInterval(() => {}, 60_000);
createInterface({ input: process.stdin }).on("line", async (line) => {
	const { id, name, args } = JSON.parse(line);
	try {
		const order = orders[name as keyof Orders] as (
			...all: unknown[]
		) => unknown;
		report({ reply: { id, value: await order(...args) } });
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		report({ reply: { id, error: { code, message } } });
	}
});
