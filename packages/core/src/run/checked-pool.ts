import { availableParallelism } from "node:os";
import { type Check, checkOptions } from "../options/check.ts";
import type { PoolOptions, ResolvedOptions } from "../options/pool-options.ts";
import {
	POOL_CHECKS,
	resolveOptions,
} from "../options/resolve-pool-options.ts";
import { poolNames } from "../pool/pool-names.ts";
import { RUN_CHECKS } from "./run-options.ts";

/** Options of a pool that is not made yet. */
export interface CheckedPool {
	readonly options: ResolvedOptions;
	/** Called when the pool is over, or could not be made. */
	readonly giveNameBack: () => void;
}

const isOfTheRun: Check = (value) =>
	value === undefined
		? undefined
		: "is an option of the run: it belongs in openRun()";
const CHECKS: Readonly<Record<string, Check>> = {
	...Object.fromEntries(
		Object.keys(RUN_CHECKS).map((name) => [name, isOfTheRun]),
	),
	...POOL_CHECKS,
};

/**
 * Checks the options of a pool and takes its name.
 *
 * @param at what takes the options, for messages.
 * @throws OptionsError; nothing is taken then.
 */
export function checkPool(at: string, given: PoolOptions): CheckedPool {
	checkOptions(at, given, CHECKS);
	const ofPool = Object.entries(given).filter(([name]) => name in POOL_CHECKS);
	const options = resolveOptions(
		Object.fromEntries(ofPool) as unknown as PoolOptions,
		availableParallelism(),
		(name) => poolNames.free(name),
		at,
	);
	return { options, giveNameBack: poolNames.take(options.name) };
}
