// The host of every case: opens a pool as its one argument says, tells on
// standard output what happens, and does what it reads on standard input.
import { closeSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import {
	createPool,
	type PoolOptions,
	type SnakepitEvent,
} from "@snakepit/core";
import { chosenProtections } from "./choose-protections.ts";
import type { HostOrder, HostOrders } from "./orders.ts";
import type { LivesWanted } from "./random-life/lives.ts";
import { workerAdapter } from "./worker-adapter.ts";

const orders: HostOrders = JSON.parse(process.argv[2] ?? "{}");
const ballast = Buffer.alloc((orders.ballastMb ?? 0) * 1024 * 1024, 1);
const told = new Set([
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
	...(orders.events ?? []),
]);

function tell(fact: object): void {
	process.stdout.write(`${JSON.stringify(fact)}\n`);
}

function hear(event: SnakepitEvent): void {
	if (told.has(event.type)) tell({ [event.type]: event });
}

const options: PoolOptions = {
	adapter: workerAdapter(orders),
	size: orders.size,
	dataDir: orders.dataDir,
	output: { echo: "none" },
	...chosenProtections(orders.protections),
	...orders.pool,
	onEvent: hear,
};
const startedAt = performance.now();
const pool = await createPool(options).catch((error) => {
	tell({ refused: error.code ?? String(error), message: error.message });
	process.exit(3);
});
tell({
	ready: pool.workers().map(({ pid }) => pid),
	pid: process.pid,
	startMs: performance.now() - startedAt,
	ballast: ballast.length,
});

const staying = setInterval(() => {}, 60_000);
// Without a reference: the end of standard input is no reason to go or to stay.
const input = createInterface({ input: process.stdin });
input.on("line", (line) => obey(JSON.parse(line)));
input.on("close", () => {});

function obey(order: HostOrder): void {
	if ("call" in order) call(order);
	else if ("descriptors" in order) hog(order.descriptors);
	else if ("measure" in order) measureHeap();
	else if ("values" in order) void exerciseValues(order.values);
	else if ("lives" in order) void live(order.lives);
	else if ("blockMs" in order) block(order.blockMs);
	else end(order.end);
}

async function exerciseValues(wanted: {
	readonly seed: number;
	readonly calls: number;
}): Promise<void> {
	// Not loaded by the hosts of other cases: they are to start fast.
	const { callWithLargeValues } = await import("./large-values.ts");
	const { seed, calls } = wanted;
	tell({ values: await callWithLargeValues(pool, seed, calls) });
}

async function live(wanted: LivesWanted): Promise<void> {
	const { liveAtRandom } = await import("./random-life/lives.ts");
	const place = process.env["CHAOS_STAGE"] ?? "";
	tell({ lives: await liveAtRandom(wanted, orders.dataDir, place) });
}

function measureHeap(): void {
	globalThis.gc?.();
	const { heapUsed, external } = process.memoryUsage();
	tell({ heapMb: (heapUsed + external) / 2 ** 20 });
}

const hogged: number[] = [];
let hogging: NodeJS.Timeout | undefined;

function hog(what: "take" | "free"): void {
	clearInterval(hogging);
	const take = (): void => {
		try {
			for (;;) hogged.push(openSync("/dev/null", "r"));
		} catch {
			// That was the last.
		}
	};
	if (what === "free") for (const each of hogged.splice(0)) closeSync(each);
	else {
		take();
		hogging = setInterval(take, 1);
	}
	tell({ descriptors: what });
}

function block(ms: number): void {
	const until = performance.now() + ms;
	while (performance.now() < until);
	tell({ unblocked: true });
}

function end(how: Extract<HostOrder, { end: string }>["end"]): void {
	switch (how) {
		case "exit":
			process.exit(7);
			break;
		case "throw":
			setImmediate(() => {
				throw new Error("thrown on purpose");
			});
			break;
		case "reject":
			void Promise.reject(new Error("rejected on purpose"));
			break;
		case "throw in the exit hook":
			process.prependListener("exit", () => {
				throw new Error("thrown in the exit hook on purpose");
			});
			process.exit(7);
			break;
		case "abort":
			process.abort();
			break;
		case "close":
			void pool.close().then(() => tell({ closed: true }));
			break;
		case "run out of work":
			clearInterval(staying);
			input.close();
			process.stdin.unref();
	}
}

function call(order: Extract<HostOrder, { call: string }>): void {
	const settings = { idempotentRetries: order.retries ?? 0 };
	const calls = Array.from({ length: order.times ?? orders.size }, () =>
		pool.execute(order.call, order.args, settings),
	);
	Promise.all(calls).then(
		() => tell({ done: order.id }),
		(error) =>
			tell({ failed: order.id, code: error.code, message: error.message }),
	);
}
