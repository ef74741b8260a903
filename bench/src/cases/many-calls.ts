import { spawn } from "node:child_process";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Case, higher, lower } from "../case.ts";
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
		{
			name: `limit, ${WORKERS} processes without a pool`,
			measure: withoutPool,
		},
		{ name: `${WORKERS} processes`, measure: processes },
		{ name: "queue alone", measure: queueAlone },
	],
};

/** Each gets its next line when it has answered. */
async function withoutPool(): Promise<Record<string, number>> {
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

async function processes(): Promise<Record<string, number>> {
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

async function queueAlone(): Promise<Record<string, number>> {
	const lines = await Promise.all(QUEUED.map(queuedCalls));
	// What making them left behind is not of those that follow.
	collectGarbage();
	for (let i = 0; i < ROUNDS; i++) for (const line of lines) await line.round();
	const figures: Record<string, number> = {};
	for (const { calls, queueUs, serveUs, end } of lines) {
		figures[`queue_us_${calls}`] = median(queueUs);
		figures[`serve_us_${calls}`] = median(serveUs);
		await end();
	}
	return figures;
}

/** Calls that wait for the only worker of a pool, which is in this process and serves as many as it may. */
async function queuedCalls(calls: number) {
	let permitted = 0;
	let permit = (): void => {};
	const pool = await openPoolOf({
		adapter: inProcessAdapter(async () => {
			while (permitted === 0)
				await new Promise<void>((resolve) => {
					permit = resolve;
				});
			permitted--;
		}),
		size: 1,
	});
	const waiting: Promise<unknown>[] = [];
	const add = (count: number): void => {
		for (let i = 0; i < count; i++) waiting.push(pool.execute("wait"));
	};
	const serve = async (count: number): Promise<void> => {
		permitted += count;
		permit();
		await Promise.all(waiting.splice(0, count));
	};
	const queueUs: number[] = [];
	const serveUs: number[] = [];
	add(calls);
	return {
		...{ calls, queueUs, serveUs },
		round: async (): Promise<void> => {
			const began = performance.now();
			add(ROUND);
			const queued = performance.now();
			await serve(ROUND);
			queueUs.push(((queued - began) * 1000) / ROUND);
			serveUs.push(((performance.now() - queued) * 1000) / ROUND);
		},
		end: async (): Promise<void> => {
			await serve(waiting.length);
			await pool.close();
		},
	};
}
