// The host of every case: opens a pool as its one argument describes, reports
// events on standard output, and carries out the orders it reads on standard input.
import { closeSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import { createPool, type SnakepitEvent } from "@snakepit/core";
import type { StormReport, StormWanted } from "./calls-ahead.ts";
import type { ValuesReport } from "./large-values.ts";
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

/** The ways in which a program can end by itself. */
export type ProgramEnd =
	| "exit"
	| "throw"
	| "reject"
	| "throw in the exit hook"
	| "abort"
	| "run out of work";

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
	"registry.set_aside",
	...(options.events ?? []),
]);
const hogged: number[] = [];
let hogging: NodeJS.Timeout | undefined;

const ENDS: Readonly<Record<ProgramEnd, () => unknown>> = {
	exit: () => process.exit(7),
	throw: () => {
		throw new Error("thrown on purpose");
	},
	reject: () => Promise.reject(new Error("rejected on purpose")),
	"throw in the exit hook": () => {
		process.prependListener("exit", () => {
			throw new Error("thrown in the exit hook on purpose");
		});
		process.exit(7);
	},
	abort: () => process.abort(),
	"run out of work": () => {
		clearInterval(staying);
		input.close();
		process.stdin.unref();
	},
};

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
	/** Opens files until no descriptor is left, and takes each descriptor that is freed later. */
	takeDescriptors: (): void => {
		takeDescriptors();
		hogging = setInterval(takeDescriptors, 1);
	},
	freeDescriptors: (): void => {
		clearInterval(hogging);
		for (const each of hogged.splice(0)) closeSync(each);
	},
	/** Megabytes that are held after a collection; needs `--expose-gc`. */
	heapMb: (): number => {
		globalThis.gc?.();
		const { heapUsed, external } = process.memoryUsage();
		return (heapUsed + external) / 2 ** 20;
	},
	/** So many calls of the tools in `value_tools.py`. */
	values: async (seed: number, calls: number): Promise<ValuesReport> => {
		// Not loaded by the hosts of other cases, which must start fast.
		const { callWithLargeValues } = await import("./large-values.ts");
		return await callWithLargeValues(pool, seed, calls);
	},
	/** Calls of a pool of their own, which are sent to workers ahead. */
	callsAhead: async (wanted: StormWanted): Promise<StormReport> => {
		const { makeCallsAhead } = await import("./calls-ahead.ts");
		const place = process.env["CHAOS_STAGE"] ?? "";
		return await makeCallsAhead(wanted, options, options.dataDir, place);
	},
	/** Pools of their own that are used in every way at random. */
	lives: async (wanted: LivesWanted): Promise<LivesReport> => {
		const { liveAtRandom } = await import("./random-life/lives.ts");
		const place = process.env["CHAOS_STAGE"] ?? "";
		return await liveAtRandom(wanted, options.dataDir, place);
	},
	/** Blocks the event loop. */
	block: (ms: number): void => {
		const until = performance.now() + ms;
		while (performance.now() < until);
	},
	/** In its own turn, so that nothing catches its error. */
	end: (how: ProgramEnd): void => void setImmediate(ENDS[how]),
};

function report(fact: object): void {
	process.stdout.write(`${JSON.stringify(fact)}\n`);
}

function takeDescriptors(): void {
	try {
		for (;;) hogged.push(openSync("/dev/null", "r"));
	} catch {
		// That was the last.
	}
}

const startedAt = performance.now();
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
	startMs: performance.now() - startedAt,
	ballast: ballast.length,
});

const staying = setInterval(() => {}, 60_000);
// The end of standard input neither ends the program nor keeps it running.
const input = createInterface({ input: process.stdin });
input.on("line", async (line) => {
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
