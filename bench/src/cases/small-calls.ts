import { type Case, higher, lower } from "../case.ts";
import { bareGrpc } from "../contestants/bare-grpc.ts";
import { type Contestant, rowOf, textEcho } from "../contestants/contestant.ts";
import { framedSocket } from "../contestants/limits.ts";
import { type OurVariant, ours, ourVariants } from "../contestants/ours.ts";
import { peers } from "../contestants/peers.ts";
import {
	cpuSeconds,
	keepCalling,
	measureLatency,
	measureThroughput,
} from "../measure.ts";

export const SMALL_TEXT: string = "x".repeat(100);

const echoers: readonly Contestant[] = [
	framedSocket,
	bareGrpc("threads"),
	bareGrpc("asyncio"),
	...ours("sync"),
	...ours("async"),
	...peers,
];

export const smallCall: Case = {
	name: "small-call",
	title: "A small call, one at a time",
	about:
		"One worker echoes a text of 100 characters, one call after the other; the limit and the bare way transfer only bytes.",
	figures: {
		p50_us: lower("p50", "us"),
		p99_us: lower("p99", "us"),
		host_cpu_us: lower("host CPU a call", "us"),
	},
	rows: echoers.map((contestant) =>
		rowOf(contestant, { workers: 1, inFlight: 1 }, async (line, { pace }) => {
			const echo = textEcho(line);
			if ((await echo(SMALL_TEXT)) !== SMALL_TEXT)
				throw new Error("the echo is not what was sent");
			return await measureLatency(() => echo(SMALL_TEXT), pace);
		}),
	),
};

const IN_FLIGHT = [16, 64];
const WORKERS = [1, 2, 4];
/** One Python, however many workers are asked for. */
const ONLY_ONE = ["pythonia", "node-calls-python"];

export const throughput: Case = {
	name: "throughput",
	title: "Small calls, many at a time",
	about:
		"The same text with 16 and 64 calls under way, over 1, 2 and 4 workers, with an ordinary function and with `async def`.",
	figures: Object.fromEntries(
		IN_FLIGHT.map((inFlight) => [
			`calls_per_s_${inFlight}`,
			higher(`${inFlight} in flight`, "calls/s"),
		]),
	),
	rows: WORKERS.flatMap((workers) =>
		echoers
			.filter(
				({ needs }) => workers === 1 || !ONLY_ONE.includes(needs?.peer ?? ""),
			)
			.map((contestant) => {
				const amount = { workers, inFlight: Math.max(...IN_FLIGHT) };
				const row = rowOf(contestant, amount, async (line, { pace }) => {
					const echo = textEcho(line);
					const figures: Record<string, number> = {};
					for (const inFlight of IN_FLIGHT)
						figures[`calls_per_s_${inFlight}`] = await measureThroughput(
							() => echo(SMALL_TEXT),
							inFlight,
							pace,
						);
					return figures;
				});
				const count = `${workers} ${workers === 1 ? "worker" : "workers"}`;
				return { ...row, name: `${contestant.name}, ${count}` };
			}),
	),
};

/** Without shared memory no call is prefetched. */
const notPrefetched: readonly OurVariant[] = ourVariants.map(
	({ name, options }) => ({
		name: `${name}, no prefetch`,
		options: { ...options, sharedMemory: "off" },
	}),
);
const UNDER_WAY = 16;

export const prefetch: Case = {
	name: "prefetch",
	title: "Prefetched small calls",
	about:
		'One worker runs one call at a time, with 16 calls under way: with the next ones prefetched (the default), and with `sharedMemory: "off"`, which prefetches none.',
	figures: {
		calls_per_s: higher(`${UNDER_WAY} in flight`, "calls/s"),
		host_cpu_us: lower("host CPU a call", "us"),
		worker_cpu_us: lower("worker CPU a call", "us"),
	},
	rows: (["sync", "async"] as const)
		.flatMap((manner) => [...ours(manner), ...ours(manner, notPrefetched)])
		.map((contestant) => {
			const amount = { workers: 1, inFlight: UNDER_WAY, callsPerWorker: 1 };
			return rowOf(contestant, amount, async (line, { pace }) => {
				const echo = textEcho(line);
				const call = (): Promise<unknown> => echo(SMALL_TEXT);
				await keepCalling(call, UNDER_WAY, pace.warmUpMs);
				const before = cpuSeconds(line.pids);
				const rate = await keepCalling(call, UNDER_WAY, pace.measureMs);
				const ofWorker = cpuSeconds(line.pids) - before;
				return {
					calls_per_s: rate.callsPerSecond,
					host_cpu_us: rate.cpuUs,
					worker_cpu_us: (ofWorker * 1_000_000) / rate.answered,
				};
			});
		}),
};
