import type { AuditStatistics } from "../audit/auditor.ts";
import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import type { StartError } from "../contract/errors.ts";
import type { CloseManner } from "../contract/run-and-worker-states.ts";
import type { World } from "../contract/world.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import type { WorkerStarter } from "../worker/worker-starter.ts";
import type { Calls } from "./calls/calls.ts";
import type { FailedCallRecorder } from "./observe/call-reports.ts";
import type { EventHub } from "./observe/event-hub.ts";
import type { Instrumentation } from "./observe/instrumentation.ts";
import type { LastFailure } from "./observe/last-failure.ts";
import type {
	EventCounts,
	MeasuredRun,
	SlotUsage,
} from "./observe/pool-metrics.ts";
import type { StatisticsKeeper } from "./observe/statistics.ts";
import type { SessionTable } from "./placement/session-table.ts";
import type { PoolSize } from "./workers/sizing.ts";
import type { RunDirectories } from "./workers/slot-table.ts";
import type { WorkerSet } from "./workers/worker-set.ts";

/** What the life of a pool does with its companion; see companion/. */
export interface PoolCompanion {
	/** Starts it. @param failWaiting called later, when a lost one could not be started anew again and again. */
	open(failWaiting: (error: StartError) => void): Promise<void>;
	/** Ends it; resolves when nothing of it is left. */
	release(manner: CloseManner): Promise<void>;
	/** Kills it in this very turn. */
	killNow(): void;
}

/** What a pool is made of; see run/opened-run.ts for the real one. */
export interface PoolDependencies {
	readonly options: ResolvedOptions;
	readonly world: World;
	readonly hub: EventHub;
	/** `undefined` if nothing follows the pool. */
	readonly instrumentation: Instrumentation | undefined;
	/** `undefined` where nothing records failed calls. */
	readonly failedCalls?: FailedCallRecorder | undefined;
	/** How many calls that waited are sent in one turn of the event loop. */
	readonly dispatchesAtOnce: number;
	readonly starter: WorkerStarter;
	readonly runDirectories: RunDirectories;
	/** What the start of the run cleaned up. */
	readonly cleanupReport: CleanupReport;
	/** What was seen last in the run. */
	readonly sightings?: MeasuredRun["sightings"] | undefined;
	/** What the auditor of the run counted so far. */
	readonly audit: () => AuditStatistics;
	/** The next worker is forked from another preloaded parent, if from any. */
	readonly renewParent: () => void;
	/** A preloaded parent that starts is not waited for any more. */
	readonly abandonParent?: (() => void) | undefined;
	/** The process that the workers need, where the adapter has one. */
	readonly companion?: PoolCompanion | undefined;
	/** Called once when everything is gone. */
	readonly release: () => Promise<void>;
}

/** What a pool works with; see make-pool.ts. */
export interface PoolInternals extends PoolDependencies {
	readonly statistics: StatisticsKeeper;
	readonly lastFailure: LastFailure;
	readonly events: EventCounts;
	readonly usage: SlotUsage;
	readonly sessions: SessionTable;
	readonly calls: Calls;
	readonly workerSet: WorkerSet;
	/** As it is now. */
	readonly size: Readonly<PoolSize>;
}
