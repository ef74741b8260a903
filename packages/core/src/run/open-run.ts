import { OptionsError } from "../errors.ts";
import { checkOptions, show } from "../option-check.ts";
import type { PoolOptions } from "../options.ts";
import { loadLate } from "../os/load-late.ts";
import type { Pool } from "../pool/pool-interface.ts";
import type { ToolMap, UntypedTools } from "../pool/tools.ts";
import { POOL_CHECKS } from "../resolve-options.ts";
import { checkPool } from "./checked-pool.ts";
import type { Run } from "./run.ts";
import type { JobReport, RunJobOptions } from "./run-job.ts";
import {
	RUN_CHECKS,
	type RunOptions,
	resolveRunOptions,
} from "./run-options.ts";

// The code of runs and pools is loaded by the first call: a program that only imports the package, for an error class or
// for later, does not pay for it. Options are copied before: the caller may change what it gave.
export const loadJoinRun: () => Promise<typeof import("./join-run.ts")> =
	loadLate(() => import("./join-run.ts"));

const loadRunJob: () => Promise<typeof import("./run-job.ts")> = loadLate(
	() => import("./run-job.ts"),
);

/**
 * Opens this program's run in a data directory: it is in the ledger, everything
 * that dead runs left behind is ended, and its protections are engaged before the
 * promise resolves.
 *
 * A program has one run in a directory: where one is open already, it is joined,
 * and lives until the last of those who opened it has closed it.
 *
 * @throws OptionsError before anything is started, `RUN_OPTION_CONFLICT` where the run that is open was opened with
 *   other options; StartError `PLATFORM_UNSUPPORTED`, `NODE_TOO_OLD`, `OUT_OF_DESCRIPTORS`, `RUNTIME_DIRECTORY_UNSAFE`,
 *   `RUNTIME_DIRECTORY_UNWRITABLE`, `SOCKET_PATH_TOO_LONG` or `PROTECTION_UNAVAILABLE`; RegistryError when the ledger
 *   cannot be used.
 */
export async function openRun(given: RunOptions = {}): Promise<Run> {
	const options = resolveRunOptions("openRun", given);
	const asked = { at: "openRun", given: { ...given }, options };
	const { joinAlone } = await loadJoinRun();
	return await joinAlone(asked);
}

/**
 * Makes a pool in this program's run in `dataDir`, which it opens where there is
 * none, and starts its workers; resolves when the minimum of workers can take calls.
 * The run ends with its last pool.
 *
 * @throws OptionsError before anything is started, `RUN_OPTION_CONFLICT` where the run that is open was opened with
 *   other options; RegistryError when the ledger cannot be used; StartError when the run or a worker could not be
 *   started, after everything was ended again.
 */
export async function createPool<
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
>(given: PoolOptions<Client> & RunOptions): Promise<Pool<Tools, Client>> {
	checkOptions("createPool", given, { ...POOL_CHECKS, ...RUN_CHECKS });
	const { dataDir, protections, cleanup, audit, jobs, history, ...rest } =
		given;
	const { guard, onSignal, signalGraceMs, control, echo, ...ofPool } = rest;
	const ofRun: RunOptions = {
		...{ dataDir, protections, cleanup, audit, jobs, history },
		...{ guard, onSignal, signalGraceMs, control, echo },
	};
	const options = resolveRunOptions("createPool", ofRun);
	const checked = checkPool("createPool", ofPool);
	const { joinWithPool } = await loadJoinRun().catch((error: unknown) => {
		checked.giveNameBack();
		throw error;
	});
	const asked = { at: "createPool", given: ofRun, options };
	// What the tools take and return is what the caller says: nothing at run time depends on it.
	return (await joinWithPool(asked, checked)) as Pool<Tools, Client>;
}

/**
 * Runs one program in this program's run in `dataDir`, which it opens where there is none, and resolves to what it
 * printed. For several jobs, open the run once: `openRun()` and `run.job()`.
 *
 * @param command the program and its arguments. No shell reads it.
 * @throws OptionsError before anything is started; JobError; StartError and RegistryError as `openRun`, and StartError
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
	const { runOneJob } = await loadRunJob();
	return await runOneJob(words, given);
}

/**
 * Runs a script with a pool: its workers are ready before `action`, and nothing
 * of them is left when this resolves. What `action` throws is thrown on, so that
 * an exit code stays right. `action` says what the tools are, by its parameter:
 * `withPool(options, async (pool: Pool<Tools>) => …)`.
 *
 * @throws as `createPool`, and whatever `action` throws.
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
			ran: "no",
			message: `withPool: the second argument must be a function of the pool, got ${show(action)}.`,
		});
	await using pool = await createPool<Tools, Client>(options);
	return await action(pool);
}
