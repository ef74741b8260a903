import type { Case, Lookup, Row } from "../case.ts";
import { type OurVariant, ourVariants } from "../contestants/our-variants.ts";
import { openPool, ourName } from "../contestants/ours.ts";
import { measureThroughput } from "../measure/latency.ts";

const IN_FLIGHT = 4;
const AT_ONCE = [1, IN_FLIGHT];
/** Tools that leave Python's lock while they work. */
const WORK = {
	sleep: { tool: "sleep_for_5_ms", title: "time.sleep of 5 ms" },
	hash: { tool: "hash_1_mb", title: "SHA-256 of 1 MB" },
	matmul: { tool: "multiply_matrices", title: "numpy, 256 x 256 matmul" },
} as const;
const KINDS = Object.keys(WORK) as (keyof typeof WORK)[];

export const threads: Case = {
	name: "threads",
	title: "Threads within a worker",
	about: `One worker, ${IN_FLIGHT} calls under way, of ordinary functions that leave Python's lock while they work: with \`callsPerWorker: 1\` they follow each other in the main thread, with ${IN_FLIGHT} each has a thread. Sleeping takes no core; hashing and multiplying gain up to the number of cores, less what host and bridge need of them.`,
	figures: Object.fromEntries(
		KINDS.map((kind) => [
			figureOf(kind),
			{ title: WORK[kind].title, unit: "calls/s", better: "higher" },
		]),
	),
	plot: figureOf("sleep"),
	rows: ourVariants.flatMap((variant) =>
		AT_ONCE.map((callsPerWorker) => rowFor(variant, callsPerWorker)),
	),
	aims: ourVariants.flatMap(({ name }) =>
		KINDS.map((kind) => ({
			text: `${name}: ${WORK[kind].title}, ${IN_FLIGHT} threads against 1`,
			unit: "x",
			// The others depend on the number of cores.
			...(kind === "sleep" ? { atLeast: 3 } : {}),
			value: (of: Lookup) => {
				const [one, many] = AT_ONCE.map((callsPerWorker) =>
					of(named(name, callsPerWorker), figureOf(kind)),
				);
				return one === undefined || many === undefined ? undefined : many / one;
			},
		})),
	),
};

function figureOf(kind: keyof typeof WORK): string {
	return `${kind}_calls_per_s`;
}

function named(variant: string, callsPerWorker: number): string {
	return `${ourName(variant)}, callsPerWorker ${callsPerWorker}`;
}

function rowFor(variant: OurVariant, callsPerWorker: number): Row {
	return {
		name: named(variant.name, callsPerWorker),
		kind: "ours",
		needs: { variant: variant.name },
		measure: async (setting) => {
			await using pool = await openPool(variant, setting, {
				size: 1,
				callsPerWorker,
			});
			const figures: Record<string, number> = {};
			for (const kind of KINDS) {
				figures[figureOf(kind)] = await measureThroughput(
					() => pool.execute(WORK[kind].tool),
					IN_FLIGHT,
					setting.pace,
				);
			}
			return figures;
		},
	};
}
