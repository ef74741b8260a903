import type { AuditStatistics } from "../audit/auditor.ts";
import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import type { ProcessKiller } from "../cleanup/process-killer.ts";
import type { Clock, Random } from "../contract/clock.ts";
import type { RunId } from "../contract/identity.ts";
import type {
	ProcessRegistry,
	RegistryStatistics,
} from "../contract/process-registry.ts";
import type { ProcessHost, ProcessSource } from "../contract/world.ts";
import type { Job } from "../job/job.ts";
import type { JobOptions } from "../job/job-options.ts";
import type { JobStatistics } from "../job/jobs.ts";
import type { PoolOptions } from "../options/pool-options.ts";
import type { PoolHealth } from "../pool/observe/health.ts";
import type { Pool, RegistryView } from "../pool/pool.ts";
import type { CloseOptions } from "../pool/pool-control.ts";
import type { ToolMap, UntypedTools } from "../pool/tools.ts";

/**
 * The run of this program in one data directory: its ledger, its protections, its cleanup report, and its pools and jobs.
 *
 * `openRun` opens one. Declare it with `await using`, or call `close()`. It stays open until then, with or without pools,
 * but does not keep the program running.
 */
export interface Run extends AsyncDisposable {
	readonly runId: RunId;
	/** The directory of its ledger. */
	readonly dataDir: string;
	/** Processes of dead programs, as found when the run was opened: which were killed, which were spared, and why. */
	readonly cleanupReport: CleanupReport;
	/** Its ledger, read-only. */
	readonly registry: RegistryView;
	/** For code that works without a pool, such as another process source or a benchmark of the ledger. */
	readonly infrastructure: RunInfrastructure;

	/**
	 * Creates a pool in this run and starts its workers. Resolves when the minimum number of workers is ready.
	 *
	 * @throws OptionsError before anything is started; StartError `RUN_CLOSED`; StartError when a worker could not be
	 *   started, after everything that the pool had started was stopped.
	 */
	createPool<Tools extends ToolMap = UntypedTools, Client = unknown>(
		options: PoolOptions<Client>,
	): Promise<Pool<Tools, Client>>;

	/**
	 * Runs one program for one piece of work, as soon as fewer than `jobs.concurrency` jobs are running. Its process is
	 * recorded and marked, and ends with this program, as a worker does. Returns the job immediately; failures are errors of
	 * the job.
	 *
	 * @param command the program and its arguments. No shell is involved.
	 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`.
	 */
	job(command: readonly string[], options?: JobOptions): Job;

	statistics(): RunStatistics;

	/** How all pools that were created with this object are together: as `pool.health()`, each has to be well. */
	health(): PoolHealth;

	/** The metrics of the run, and of all pools that were created with this object, as those of one pool. */
	metricsText(): string;

	/**
	 * Closes all pools that were created with this object, waits up to `drainMs` for its jobs and stops the rest, and ends
	 * the run. Idempotent. Resolves when no process is left. A second call with `manner: "forced"` kills what the
	 * first still waits for.
	 *
	 * @throws CloseError `STILL_THERE`, which names processes that could not be ended: see its remedy.
	 */
	close(options?: CloseOptions): Promise<void>;
}

export interface RunStatistics {
	readonly registry: RegistryStatistics;
	readonly audit: AuditStatistics;
	/** The jobs that were created with this object. */
	readonly jobs: JobStatistics;
}

/** The parts that the pools of a run use. */
export interface RunInfrastructure {
	readonly host: ProcessHost;
	/** Forks the workers: Node, or a protection instead of it. */
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
