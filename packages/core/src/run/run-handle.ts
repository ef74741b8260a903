import type { AuditStatistics } from "../audit/auditor.ts";
import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import type { ProcessKiller } from "../cleanup/process-killer.ts";
import type { ProcessRegistry } from "../registry/process-registry.ts";
import type { Clock, ProcessHost, ProcessSource, Random } from "../world.ts";

/** One holder's share of a run. */
export interface RunHandle {
	readonly host: ProcessHost;
	/** Who forks this holder's workers. */
	readonly source: ProcessSource;
	readonly registry: ProcessRegistry;
	readonly clock: Clock;
	readonly random: Random;
	readonly killer: ProcessKiller;
	/** Private (0700), for sockets and scratch files; removed with the run. */
	readonly runDirectory: string;
	/** The like in shared memory; `undefined` where there is none. */
	readonly sharedDirectory: string | undefined;
	/** The value of the marker variable for every worker of the run. */
	readonly marker: string;
	/** What the start of the run cleaned up. */
	readonly report: CleanupReport;
	/** What the auditor of the run counted so far. */
	audit(): AuditStatistics;
	/** Gives the share back; with the last one the run ends. Idempotent. */
	release(): Promise<void>;
}
