import { setImmediate as nextTurn } from "node:timers/promises";
import { type Case, ratio, type Setting } from "../case.ts";
import { catAdapter } from "../contestants/cat.ts";
import { inProcessAdapter } from "../contestants/in-process.ts";
import { openPoolOf } from "../contestants/ours.ts";
import { watchLoop } from "../measure/loop-lag.ts";

const WORKERS = 250;
const CALLS = 10_000;
const QUEUED = [1_000, 100_000];
const PROCESSES = `${WORKERS} processes`;
const QUEUE = "queue alone";

export const manyCalls: Case = {
	name: "many-calls",
	title: "250 workers, 10,000 queued calls",
	about: `${WORKERS} workers that are \`cat\` (so many Pythons are too heavy for a small machine), each echoing one line at a time; ${CALLS.toLocaleString("en-US")} calls made in one turn. Lag: how late the host's event loop is, from the turn after that one until the last answer; a long turn counts for every millisecond of it. Queue alone: one worker in this process that is busy, then free; what it costs to queue a call and to serve it when 1,000 and 100,000 wait. The 100,000 also pay for a heap that has to grow.`,
	figures: {
		lag_p99_ms: { title: "loop lag p99", unit: "ms", better: "lower" },
		lag_max_ms: { title: "loop lag max", unit: "ms", better: "lower" },
		submit_us: { title: "to make a call", unit: "us", better: "lower" },
		calls_per_s: { title: "calls", unit: "calls/s", better: "higher" },
		failed: { title: "failed", unit: "calls", better: "lower" },
		queue_us_1000: { title: "to queue, 1,000", unit: "us", better: "lower" },
		queue_us_100000: {
			title: "to queue, 100,000",
			unit: "us",
			better: "lower",
		},
		serve_us_1000: { title: "to serve, 1,000", unit: "us", better: "lower" },
		serve_us_100000: {
			title: "to serve, 100,000",
			unit: "us",
			better: "lower",
		},
	},
	plot: "lag_p99_ms",
	rows: [
		{ name: PROCESSES, kind: "ours", measure: processes },
		{ name: QUEUE, kind: "ours", measure: queueAlone },
	],
	aims: [
		{
			text: "loop lag p99",
			unit: "ms",
			atMost: 20,
			value: (of) => of(PROCESSES, "lag_p99_ms"),
		},
		{
			text: "failed calls",
			unit: "calls",
			atMost: 0,
			value: (of) => of(PROCESSES, "failed"),
		},
		...(["queue", "serve"] as const).map((what) => ({
			text: `to ${what} a call when 100,000 wait against 1,000 (O(log n) is 1.7)`,
			unit: "x",
			atMost: 2,
			value: (of: (row: string, figure: string) => number | undefined) =>
				ratio(of, [QUEUE, `${what}_us_100000`], [QUEUE, `${what}_us_1000`]),
		})),
	],
};

async function processes(_: Setting): Promise<Record<string, number>> {
	await using pool = await openPoolOf({
		adapter: catAdapter,
		size: WORKERS,
		start: { concurrency: 50 },
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
	await nextTurn();
	const loop = watchLoop();
	const good = (await Promise.all(answers)).filter(Boolean).length;
	const { p99Ms, maxMs } = loop.stop();
	return {
		lag_p99_ms: p99Ms,
		lag_max_ms: maxMs,
		submit_us: ((submitted - began) / CALLS) * 1000,
		calls_per_s: (CALLS * 1000) / (performance.now() - began),
		failed: CALLS - good,
	};
}

async function queueAlone(_: Setting): Promise<Record<string, number>> {
	const figures: Record<string, number> = {};
	let gate: Promise<void> = Promise.resolve();
	await using pool = await openPoolOf({
		adapter: inProcessAdapter(async () => await gate),
		size: 1,
	});
	const round = async (calls: number): Promise<[number, number]> => {
		const { promise, resolve } = Promise.withResolvers<void>();
		gate = promise;
		const began = performance.now();
		const answers = Array.from({ length: calls }, () => pool.execute("wait"));
		const queued = performance.now();
		resolve();
		await Promise.all(answers);
		const us = (ms: number): number => (ms * 1000) / calls;
		return [us(queued - began), us(performance.now() - queued)];
	};
	// Warm: as many calls as the larger round, in small ones.
	for (let done = 0; done < 50_000; done += 1_000) await round(1_000);
	for (const calls of QUEUED) {
		// As many calls in all: garbage is collected in both.
		const rounds = Math.max(...QUEUED) / calls;
		let [queue, serve] = [0, 0];
		for (let i = 0; i < rounds; i++) {
			const [queued, served] = await round(calls);
			queue += queued / rounds;
			serve += served / rounds;
		}
		figures[`queue_us_${calls}`] = queue;
		figures[`serve_us_${calls}`] = serve;
	}
	return figures;
}
