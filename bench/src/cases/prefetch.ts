import { type Case, higher, lower, type Row } from "../case.ts";
import { rowOf, textEcho } from "../contestants/contestant.ts";
import {
	type Manner,
	type OurVariant,
	ours,
	ourVariants,
} from "../contestants/ours.ts";
import { cpuSeconds, keepCalling } from "../measure.ts";
import { SMALL_TEXT } from "./small-call.ts";

const MANNERS: readonly Manner[] = ["sync", "async"];
const IN_FLIGHT = 16;
const MICROSECONDS = 1_000_000;

/** Without shared memory no call is prefetched. */
const notPrefetched: readonly OurVariant[] = ourVariants.map(
	({ name, options }) => ({
		name: `${name}, no prefetch`,
		options: { ...options, sharedMemory: "off" },
	}),
);

export const prefetch: Case = {
	name: "prefetch",
	title: "Prefetched small calls",
	about:
		'One worker runs one call at a time, with 16 calls under way: with the next ones prefetched (the default), and with `sharedMemory: "off"`, which prefetches none.',
	figures: {
		calls_per_s: higher("16 in flight", "calls/s"),
		host_cpu_us: lower("host CPU a call", "us"),
		worker_cpu_us: lower("worker CPU a call", "us"),
	},
	rows: MANNERS.flatMap((manner) =>
		[...ours(manner), ...ours(manner, notPrefetched)].map(rowFor),
	),
};

function rowFor(contestant: ReturnType<typeof ours>[number]): Row {
	const amount = { workers: 1, inFlight: IN_FLIGHT, callsPerWorker: 1 };
	return rowOf(contestant, amount, async (line, { pace }) => {
		const echo = textEcho(line);
		const call = (): Promise<unknown> => echo(SMALL_TEXT);
		await keepCalling(call, IN_FLIGHT, pace.warmUpMs);
		const before = cpuSeconds(line.pids);
		const { answered, callsPerSecond, cpuUs } = await keepCalling(
			call,
			IN_FLIGHT,
			pace.measureMs,
		);
		const ofWorker = cpuSeconds(line.pids) - before;
		return {
			calls_per_s: callsPerSecond,
			host_cpu_us: cpuUs,
			worker_cpu_us: (ofWorker * MICROSECONDS) / answered,
		};
	});
}
