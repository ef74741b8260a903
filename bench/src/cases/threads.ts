import type { Needs } from "../case.ts";
import { type Case, higher, type Row } from "../case.ts";
import {
	type OurVariant,
	openPool,
	ourName,
	ourVariants,
} from "../contestants/ours.ts";
import { measureThroughput } from "../measure.ts";

const IN_FLIGHT = 4;
const AT_ONCE = [1, IN_FLIGHT];
/** All but the last leave Python's lock while they work. */
const WORK = {
	sleep: { tool: "sleep_for_5_ms", title: "time.sleep of 5 ms" },
	hash: { tool: "hash_1_mb", title: "SHA-256 of 1 MB" },
	matmul: { tool: "multiply_matrices", title: "numpy, 256 x 256 matmul" },
	python: { tool: "count_in_python", title: "Python, 100,000 additions" },
} as const;
const KINDS = Object.keys(WORK) as (keyof typeof WORK)[];

/** A variant with the interpreter that runs it. */
interface Interpreted {
	readonly name: string;
	readonly variant: OurVariant;
	readonly needs?: Needs;
}

const interpreted: readonly Interpreted[] = ourVariants.flatMap((variant) => {
	const { name, options } = variant;
	const usual = { name, variant };
	// grpcio enables the GIL; the framed transport does without it.
	if (options.transport !== "framed") return [usual];
	const needs: Needs = { freeThreaded: true };
	return [usual, { ...usual, name: `${name}, free-threaded Python`, needs }];
});

export const threads: Case = {
	name: "threads",
	title: "Threads in one worker",
	about: `One worker with ${IN_FLIGHT} calls of ordinary functions under way: one after the other (\`callsPerWorker: 1\`), or each in its own thread.`,
	figures: Object.fromEntries(
		KINDS.map((kind) => [figureOf(kind), higher(WORK[kind].title, "calls/s")]),
	),
	rows: interpreted.flatMap((one) =>
		AT_ONCE.map((callsPerWorker) => rowFor(one, callsPerWorker)),
	),
};

function figureOf(kind: keyof typeof WORK): string {
	return `${kind}_calls_per_s`;
}

function rowFor(
	{ name, variant, needs }: Interpreted,
	callsPerWorker: number,
): Row {
	return {
		name: `${ourName(name)}, callsPerWorker ${callsPerWorker}`,
		...(needs && { needs }),
		measure: async (setting) => {
			const { freeThreadedPython = setting.python } = setting;
			const python = needs ? freeThreadedPython : setting.python;
			await using pool = await openPool(
				variant,
				{ ...setting, python },
				{ size: 1, callsPerWorker },
			);
			const figures: Record<string, number> = {};
			for (const kind of KINDS)
				figures[figureOf(kind)] = await measureThroughput(
					() => pool.execute(WORK[kind].tool),
					IN_FLIGHT,
					setting.pace,
				);
			// Last, because a module that the tools import may have enabled it.
			if (needs && (await pool.execute("lock_is_enabled")))
				throw new Error("this Python's lock is enabled");
			return figures;
		},
	};
}
