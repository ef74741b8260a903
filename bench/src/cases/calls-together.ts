import {
	aim,
	type Case,
	higher,
	type Lookup,
	lower,
	type Pace,
	type Row,
	ratio,
} from "../case.ts";
import { type OurVariant, ourVariants } from "../contestants/our-variants.ts";
import { openPoolOf, ourAdapter } from "../contestants/ours.ts";
import { measureThroughput } from "../measure/latency.ts";
import { median } from "../measure/percentile.ts";
import { SMALL_TEXT } from "./small-call.ts";

const CALLERS = 64;
/** As in embedder.py. */
const MAX = 32;
const PASS_MS = 5;
const TEXT_MS = 0.1;
/** What the device allows: a call each, and full batches without a pause. */
const ALONE_MS = PASS_MS + TEXT_MS;
const MOST_PER_S = (1000 * MAX) / (PASS_MS + TEXT_MS * MAX);

interface Way {
	readonly name: string;
	readonly tool: string;
	readonly callsPerWorker: number;
}

const single: Way = {
	name: "each call by itself",
	tool: "embed_one",
	callsPerWorker: 1,
};
const batches: readonly Way[] = [MAX, 2 * MAX].map((callsPerWorker) => ({
	name: `batches of ${MAX}, callsPerWorker ${callsPerWorker}`,
	tool: "embed_together",
	callsPerWorker,
}));

export const callsTogether: Case = {
	name: "calls-together",
	title: "Calls that run together",
	about: `One worker with a simulated device (it sleeps): it runs one pass at a time, which takes ${PASS_MS} ms plus ${TEXT_MS} ms for each text. ${CALLERS} callers send one text at a time, first to a tool without batches, then to one with \`@tool(batch=Batch(max=${MAX}, wait_ms=5))\`. Then one caller alternates between this tool and a tool for a single text. The row without batches shows how much that difference varies by chance.`,
	figures: {
		calls_per_s: higher(`${CALLERS} callers`, "calls/s"),
		p50_us: lower("one caller, p50", "us"),
		added_us: lower("of these, for the batch", "us"),
	},
	plot: "calls_per_s",
	rows: ourVariants.flatMap((variant) =>
		[single, ...batches].map((way) => rowFor(variant, way)),
	),
	aims: ourVariants.flatMap(({ name }) => [
		...batches.flatMap((way) => [
			ratio(
				`${name}: ${way.name}, calls a second against ${single.name}`,
				"calls_per_s",
				[rowName(name, way), rowName(name, single)],
				{ atLeast: 10 },
			),
			{
				text: `${name}: ${way.name}, of the calls that the device allows`,
				unit: "x",
				value: (of: Lookup) =>
					of(rowName(name, way), "calls_per_s") / MOST_PER_S,
			},
			aim(
				`${name}: ${way.name}, one caller: p50 above that of a call by itself in the same worker`,
				"us",
				[rowName(name, way), "added_us"],
				{ atMost: 500 },
			),
		]),
		aim(
			`${name}: ${single.name}, one caller: p50 (the pass takes ${ALONE_MS} ms)`,
			"us",
			[rowName(name, single), "p50_us"],
		),
	]),
};

function rowName(variant: string, { name }: Way): string {
	return `${variant}: ${name}`;
}

function rowFor(variant: OurVariant, way: Way): Row {
	return {
		name: rowName(variant.name, way),
		kind: "ours",
		measure: async (setting) => {
			await using pool = await openPoolOf({
				adapter: ourAdapter(variant, setting, "embedder"),
				size: 1,
				callsPerWorker: way.callsPerWorker,
			});
			const callOf = (tool: string) => () => pool.execute(tool, [SMALL_TEXT]);
			const call = callOf(way.tool);
			const callsPerS = await measureThroughput(call, CALLERS, setting.pace);
			const [p50 = Number.NaN, alone = Number.NaN] = await p50InTurns(
				[call, callOf(single.tool)],
				setting.pace,
			);
			return { calls_per_s: callsPerS, p50_us: p50, added_us: p50 - alone };
		},
	};
}

/** The median of each call in microseconds, made in turns, so that other work on the machine affects all alike. */
async function p50InTurns(
	calls: readonly (() => Promise<unknown>)[],
	{ measureMs }: Pace,
): Promise<readonly number[]> {
	const samples = calls.map((): number[] => []);
	const end = performance.now() + measureMs * calls.length;
	while (performance.now() < end)
		for (const [at, call] of calls.entries()) {
			const begun = performance.now();
			await call();
			samples[at]?.push(performance.now() - begun);
		}
	return samples.map((each) => median(each) * 1000);
}
