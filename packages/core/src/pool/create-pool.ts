import { availableParallelism } from "node:os";
import type { PoolOptions } from "../options.ts";
import { resolveOptions } from "../resolve-options.ts";
import type { Pool } from "./pool.ts";
import { poolNames } from "./pool-names.ts";
import type { ToolMap, UntypedTools } from "./tools.ts";

/**
 * Makes a pool and starts its workers: cleans up after dead runs first, and
 * resolves when the minimum of workers can take calls.
 *
 * The code of pools is loaded by the first call: a program that only imports the
 * package, for an error class or for later, does not pay for it.
 *
 * @throws OptionsError before anything is started; RegistryError when the ledger cannot be used; StartError when a
 *   worker could not be started, after everything was ended again.
 */
export async function createPool<Tools extends ToolMap = UntypedTools>(
	given: PoolOptions,
): Promise<Pool<Tools>> {
	// At once: the caller may change what it gave.
	const options = resolveOptions(given, availableParallelism(), (name) =>
		poolNames.free(name),
	);
	const giveNameBack = poolNames.take(options.name);
	const { openPool } = await import("./open-pool.ts");
	return openPool<Tools>(options, giveNameBack);
}
