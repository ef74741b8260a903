import { type Case, higher, lower, type Row, ratio } from "../case.ts";
import { textEcho } from "../contestants/contestant.ts";
import { type OurVariant, ourVariants } from "../contestants/our-variants.ts";
import { type Manner, ourName, ours } from "../contestants/ours.ts";
import { rowOf } from "../contestants/row-of.ts";
import { keepCalling } from "../measure/latency.ts";
import { cpuSeconds } from "../measure/processes.ts";
import { SMALL_TEXT } from "./small-call.ts";

const MANNERS: readonly Manner[] = ["sync", "async"];
const IN_FLIGHT = 16;
const MICROSECONDS = 1_000_000;

/** Without shared memory no call is sent ahead. */
const notAhead: readonly OurVariant[] = ourVariants.map(
	({ name, options }) => ({
		name: `${name}, not ahead`,
		options: { ...options, sharedMemory: "off" },
	}),
);

export const sentAhead: Case = {
	name: "sent-ahead",
	title: "Small calls sent ahead",
	about:
		'One worker runs one call at a time, with 16 calls of 100 characters under way. By default, the next calls are sent ahead; with `sharedMemory: "off"`, none are. The processor time of host and worker is that of one call.',
	figures: {
		calls_per_s: higher("16 in flight", "calls/s"),
		host_cpu_us: lower("host CPU a call", "us"),
		worker_cpu_us: lower("worker CPU a call", "us"),
	},
	plot: "calls_per_s",
	rows: MANNERS.flatMap((manner) =>
		[...ours(manner), ...ours(manner, notAhead)].map(rowFor),
	),
	aims: MANNERS.flatMap((manner) =>
		ourVariants.map(({ name }) =>
			ratio(
				`${name}, ${manner === "sync" ? "def" : "async def"}: calls a second against none sent ahead`,
				"calls_per_s",
				[ourName(name, manner), ourName(`${name}, not ahead`, manner)],
			),
		),
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
