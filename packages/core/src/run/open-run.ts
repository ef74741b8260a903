import { OptionsError } from "../contract/errors.ts";
import { addFrames, framesBelow } from "../contract/thrown.ts";
import { checkOptions, show } from "../options/check.ts";
import type { PoolOptions } from "../options/pool-options.ts";
import { POOL_CHECKS } from "../options/resolve-pool-options.ts";
import { loadLate } from "../os/load-late.ts";
import { endIfCopy } from "../os/node-only.ts";
import type { Pool } from "../pool/pool.ts";
import type { ToolMap, UntypedTools } from "../pool/tools.ts";
import type { JobReport, RunJobOptions } from "./join-run.ts";
import type { Run } from "./run.ts";
import {
	checkPool,
	RUN_CHECKS,
	type RunOptions,
	resolveRunOptions,
} from "./run-options.ts";

endIfCopy();

// The code of runs and pools is loaded by the first call: a program that only imports the package, for an error class or
// for later, does not pay for it. Options are copied before: the caller may change what it gave.
export const loadJoinRun: () => Promise<typeof import("./join-run.ts")> =
	loadLate(() => import("./join-run.ts"));

/**
 * Opens this program's run in a data directory. When the promise resolves, the run is in the ledger, everything that
 * dead runs left behind has been killed, and the run's protections are active.
 *
 * A program has one run in each directory. If it is already open, this call joins it; it stays open until every caller
 * has closed it.
 *
 * @throws OptionsError before anything is started, with `RUN_OPTION_CONFLICT` if the open run has other options;
 *   StartError `PLATFORM_UNSUPPORTED`, `NODE_TOO_OLD`, `OUT_OF_DESCRIPTORS`, `RUNTIME_DIRECTORY_UNSAFE`,
 *   `RUNTIME_DIRECTORY_UNWRITABLE`, `SOCKET_PATH_TOO_LONG` or `PROTECTION_UNAVAILABLE`; RegistryError when the ledger
 *   cannot be used.
 */
export async function openRun(given: RunOptions = {}): Promise<Run> {
	const caller = framesBelow(openRun);
	const options = resolveRunOptions("openRun", given);
	const asked = { at: "openRun", given: { ...given }, options };
	try {
		const { joinAlone } = await loadJoinRun();
		return await joinAlone(asked);
	} catch (error) {
		addFrames(error, caller);
		throw error;
	}
}

/**
 * Creates a pool and starts its workers. Resolves when the minimum number of workers is ready. The pool belongs to this
 * program's run in `dataDir`, which is opened if necessary and ends with its last pool.
 *
 * @throws OptionsError before anything is started, with `RUN_OPTION_CONFLICT` if the open run has other options;
 *   RegistryError when the ledger cannot be used; StartError when the run or a worker could not be started, after
 *   everything that was started has been stopped.
 */
export async function createPool<
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
>(given: PoolOptions<Client> & RunOptions): Promise<Pool<Tools, Client>> {
	const caller = framesBelow(createPool);
	checkOptions("createPool", given, { ...POOL_CHECKS, ...RUN_CHECKS });
	const { dataDir, protections, cleanup, audit, jobs, history, ...rest } =
		given;
	const { guard, onSignal, signalGraceMs, control, ...ofPool } = rest;
	const ofRun: RunOptions = {
		...{ dataDir, protections, cleanup, audit, jobs, history },
		...{ guard, onSignal, signalGraceMs, control },
	};
	const options = resolveRunOptions("createPool", ofRun);
	const checked = checkPool("createPool", ofPool);
	const { joinWithPool } = await loadJoinRun().catch((error: unknown) => {
		checked.giveNameBack();
		throw error;
	});
	const asked = { at: "createPool", given: ofRun, options };
	try {
		// What the tools take and return is what the caller says: nothing at run time depends on it.
		return (await joinWithPool(asked, checked)) as Pool<Tools, Client>;
	} catch (error) {
		addFrames(error, caller);
		throw error;
	}
}

/**
 * Runs one program and resolves to what it printed. The job belongs to this program's run in `dataDir`, which is opened
 * if necessary. For several jobs, open the run once: `openRun()` and `run.job()`.
 *
 * @param command the program and its arguments. No shell is involved.
 * @throws OptionsError before anything is started; JobError; StartError and RegistryError as `openRun`; StartError
 *   `SPAWN_FAILED`.
 */
export async function runJob(
	command: readonly string[],
	options: RunJobOptions = {},
): Promise<JobReport> {
	const [given, words] = [
		{ ...options },
		Array.isArray(command) ? [...command] : command,
	];
	const { runOneJob } = await loadJoinRun();
	return await runOneJob(words, given);
}

/**
 * Creates a pool, calls `action` with it when its workers are ready, and closes it again. No worker is left when the
 * promise settles. An error of `action` is thrown again, so the program's exit code stays right. Declare the tools in
 * the parameter of `action`: `withPool(options, async (pool: Pool<Tools>) => …)`.
 *
 * @throws the errors of `createPool`, and whatever `action` throws.
 */
export async function withPool<
	Result,
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
>(
	options: PoolOptions<Client> & RunOptions,
	action: (pool: Pool<Tools, Client>) => Promise<Result> | Result,
): Promise<Result> {
	if (typeof action !== "function")
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `withPool: the second argument must be a function of the pool, got ${show(action)}.`,
		});
	await using pool = await createPool<Tools, Client>(options);
	return await action(pool);
}
