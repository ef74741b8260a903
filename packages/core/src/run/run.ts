import type { AuditStatistics } from "../audit/auditor.ts";
import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import type { ProcessKiller } from "../cleanup/process-killer.ts";
import type { Job } from "../job/job.ts";
import type { JobOptions } from "../job/job-options.ts";
import type { JobStatistics } from "../job/jobs.ts";
import type { PoolOptions } from "../options.ts";
import type { CloseOptions } from "../pool/close-options.ts";
import type { Pool, RegistryView } from "../pool/pool-interface.ts";
import type { ToolMap, UntypedTools } from "../pool/tools.ts";
import type {
	ProcessRegistry,
	RegistryStatistics,
} from "../registry/process-registry.ts";
import type { RunId } from "../run-id.ts";
import type { Clock, ProcessHost, ProcessSource, Random } from "../world.ts";

/**
 * The run of this program in one data directory: its ledger, its protections,
 * what it cleaned up, and its pools.
 *
 * Made by `openRun`; used with `await using`, or closed by `close()`. It lives
 * until then, with or without pools, and does not keep the program open.
 */
export interface Run extends AsyncDisposable {
	readonly runId: RunId;
	/** Where its ledger is. */
	readonly dataDir: string;
	/** What dead programs had left behind when it was opened: found, ended, spared and why. */
	readonly cleanupReport: CleanupReport;
	/** Its ledger, to read. */
	readonly registry: RegistryView;
	/** For what has no pool: another process source, or a measurement of the ledger. */
	readonly infrastructure: RunInfrastructure;

	/**
	 * Makes a pool in this run and starts its workers; resolves when the minimum of
	 * workers can take calls.
	 *
	 * @throws OptionsError before anything is started; StartError `RUN_CLOSED`, or when a worker could not be started,
	 *   after everything of the pool was ended again.
	 */
	createPool<Tools extends ToolMap = UntypedTools, Client = unknown>(
		options: PoolOptions<Client>,
	): Promise<Pool<Tools, Client>>;

	/**
	 * Runs one program for one piece of work, as soon as fewer than `jobs.concurrency` jobs run: recorded, marked and
	 * ended with this program as a worker is. The job is returned at once; what goes wrong with it is its error.
	 *
	 * @param command the program and its arguments. No shell reads it.
	 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`.
	 */
	job(command: readonly string[], options?: JobOptions): Job;

	statistics(): RunStatistics;

	/**
	 * Closes all pools that were made with it, waits for its jobs for `drainMs` and ends those that are left, and ends
	 * the run. Idempotent; resolves when nothing is left. A second call with `manner: "forced"` kills what the first still waits for.
	 */
	close(options?: CloseOptions): Promise<void>;
}

export interface RunStatistics {
	readonly registry: RegistryStatistics;
	readonly audit: AuditStatistics;
	/** Those that were made with it. */
	readonly jobs: JobStatistics;
}

/** What pools of a run are made of. */
export interface RunInfrastructure {
	readonly host: ProcessHost;
	/** Forks the workers: Node, or a protection in its place. */
	readonly source: ProcessSource;
	readonly registry: ProcessRegistry;
	readonly clock: Clock;
	readonly random: Random;
	readonly killer: ProcessKiller;
	/** Private (0700), for sockets and scratch files; removed with the run. */
	readonly runDirectory: string;
	/** The same in shared memory; `undefined` where there is none. */
	readonly sharedDirectory: string | undefined;
	/** The value of the marker variable for every worker of the run. */
	readonly marker: string;
}
