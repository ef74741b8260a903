import { type Case, higher, lower, type Pace, type Row } from "../case.ts";
import {
	type OurVariant,
	openPoolOf,
	ourAdapter,
	ourVariants,
} from "../contestants/ours.ts";
import { measureThroughput, median } from "../measure.ts";
import { SMALL_TEXT } from "./small-calls.ts";

const CALLERS = 64;
/** As in embedder.py. */
const MAX = 32;
const PASS_MS = 5;
const TEXT_MS = 0.1;

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
	about: `${CALLERS} callers send one text at a time to a worker whose simulated device runs one pass at a time, of ${PASS_MS} ms plus ${TEXT_MS} ms for each text; then one caller alternates between a tool with and one without batches.`,
	figures: {
		calls_per_s: higher(`${CALLERS} callers`, "calls/s"),
		p50_us: lower("one caller, p50", "us"),
		added_us: lower("of these, for the batch", "us"),
	},
	rows: ourVariants.flatMap((variant) =>
		[single, ...batches].map((way) => rowFor(variant, way)),
	),
};

function rowFor(variant: OurVariant, way: Way): Row {
	return {
		name: `${variant.name}: ${way.name}`,
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
