import { spawn } from "node:child_process";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Pool } from "@snakepit/core";
import { type Case, higher, lower, type Setting } from "../case.ts";
import {
	catAdapter,
	converse,
	inProcessAdapter,
} from "../contestants/light-adapters.ts";
import { openPoolOf } from "../contestants/ours.ts";
import { collectGarbage, median, watchLoop } from "../measure.ts";

const WORKERS = 250;
const CALLS = 10_000;
const QUEUED = [1_000, 100_000];
/** So many calls are queued, then served, so often. */
const ROUND = 500;
const ROUNDS = 200;
const PROCESSES = `${WORKERS} processes`;
const BARE = `limit, ${WORKERS} processes without a pool`;
const QUEUE = "queue alone";

export const manyCalls: Case = {
	name: "many-calls",
	title: "250 workers, 10,000 queued calls",
	about: `${WORKERS} workers that run \`cat\` get ${CALLS.toLocaleString("en-US")} calls in one turn of the event loop, whose lag is measured; and the cost of queueing and serving a call while 1,000 or 100,000 wait.`,
	figures: {
		lag_p99_ms: lower("loop lag p99", "ms"),
		lag_max_ms: lower("loop lag max", "ms"),
		submit_us: lower("to make a call", "us"),
		calls_per_s: higher("calls", "calls/s"),
		failed: lower("failed", "calls"),
		queue_us_1000: lower("to queue, 1,000", "us"),
		queue_us_100000: lower("to queue, 100,000", "us"),
		serve_us_1000: lower("to serve, 1,000", "us"),
		serve_us_100000: lower("to serve, 100,000", "us"),
	},
	rows: [
		{ name: BARE, measure: withoutPool },
		{ name: PROCESSES, measure: processes },
		{ name: QUEUE, measure: queueAlone },
	],
};

/** Each gets its next line when it has answered. */
async function withoutPool(_: Setting): Promise<Record<string, number>> {
	const children = Array.from({ length: WORKERS }, () => spawn("cat"));
	const lines = children.map(converse);
	await Promise.all(lines.map((echo) => echo("0")));
	let [next, failed] = [0, 0];
	const began = performance.now();
	const all = lines.map(async (echo) => {
		while (next < CALLS) {
			const text = String(next++);
			if ((await echo(text)) !== text) failed++;
		}
	});
	await nextTurn();
	const loop = watchLoop();
	await Promise.all(all);
	const { p99Ms, maxMs } = loop.stop();
	const seconds = (performance.now() - began) / 1000;
	for (const child of children) child.stdin.end();
	return {
		lag_p99_ms: p99Ms,
		lag_max_ms: maxMs,
		calls_per_s: CALLS / seconds,
		failed,
	};
}

async function processes(_: Setting): Promise<Record<string, number>> {
	await using pool = await openPoolOf({
		adapter: catAdapter,
		size: WORKERS,
		heartbeat: "off",
	});
	// Every worker has answered once.
	await Promise.all(
		Array.from({ length: WORKERS }, (_, i) => pool.execute("echo", i)),
	);
	const began = performance.now();
	const answers = Array.from({ length: CALLS }, (_, i) =>
		pool.execute("echo", i).then(
			(answer) => answer === String(i),
			() => false,
		),
	);
	const submitted = performance.now();
	// To wait for so many promises takes milliseconds, which are not the pool's.
	const all = Promise.all(answers);
	await nextTurn();
	const loop = watchLoop();
	const good = (await all).filter(Boolean).length;
	const { p99Ms, maxMs } = loop.stop();
	return {
		lag_p99_ms: p99Ms,
		lag_max_ms: maxMs,
		submit_us: ((submitted - began) / CALLS) * 1000,
		calls_per_s: (CALLS * 1000) / (performance.now() - began),
		failed: CALLS - good,
	};
}

/** Holds the calls of the one worker until it is opened for some of them. */
class Gate {
	#open = 0;
	#waits: (() => void) | undefined;

	open(calls: number): void {
		this.#open += calls;
		this.#waits?.();
	}

	async pass(): Promise<void> {
		while (this.#open === 0) {
			await new Promise<void>((resolve) => {
				this.#waits = resolve;
			});
		}
		this.#open--;
	}
}

/** A pool whose one worker is in this process, and calls that wait for it. */
class Line implements AsyncDisposable {
	readonly #gate = new Gate();
	readonly #waiting: Promise<unknown>[] = [];
	#pool: Pool | undefined;
	readonly queueUs: number[] = [];
	readonly serveUs: number[] = [];

	async open(calls: number): Promise<void> {
		this.#pool = await openPoolOf({
			adapter: inProcessAdapter(() => this.#gate.pass()),
			size: 1,
		});
		this.#add(calls);
	}

	async round(): Promise<void> {
		const began = performance.now();
		this.#add(ROUND);
		const queued = performance.now();
		await this.#serve(ROUND);
		this.queueUs.push(((queued - began) * 1000) / ROUND);
		this.serveUs.push(((performance.now() - queued) * 1000) / ROUND);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#serve(this.#waiting.length);
		await this.#pool?.close();
	}

	#add(calls: number): void {
		for (let i = 0; i < calls; i++)
			this.#waiting.push(this.#pool?.execute("wait") ?? Promise.reject());
	}

	async #serve(calls: number): Promise<void> {
		const oldest = this.#waiting.splice(0, calls);
		this.#gate.open(calls);
		await Promise.all(oldest);
	}
}

async function queueAlone(_: Setting): Promise<Record<string, number>> {
	await using stack = new AsyncDisposableStack();
	const lines = QUEUED.map(() => stack.use(new Line()));
	for (const [i, line] of lines.entries()) await line.open(QUEUED[i] ?? 0);
	// What making them left behind is not of those that follow.
	collectGarbage();
	for (let i = 0; i < ROUNDS; i++) for (const line of lines) await line.round();
	const figures: Record<string, number> = {};
	for (const [i, { queueUs, serveUs }] of lines.entries()) {
		figures[`queue_us_${QUEUED[i]}`] = median(queueUs);
		figures[`serve_us_${QUEUED[i]}`] = median(serveUs);
	}
	return figures;
}
