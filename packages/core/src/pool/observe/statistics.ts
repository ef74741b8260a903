import type { AuditStatistics } from "../../audit/auditor.ts";
import type { CallOutcome } from "../../call-events.ts";
import type { HeartbeatStatistics } from "../../heartbeat/heartbeat-monitor.ts";
import type { RegistryStatistics } from "../../registry/process-registry.ts";
import type { WorkerPlace } from "../../remote-worker.ts";
import type { Worker } from "../../worker/worker.ts";
import type { WorkerState } from "../../worker-state.ts";
import { DurationHistogram, type DurationSummary } from "./histogram.ts";

/** One worker as it is now. */
export interface WorkerView {
	readonly workerId: string;
	readonly incarnation: string;
	/** `undefined` before it is spawned. */
	readonly pid: number | undefined;
	readonly state: WorkerState;
	readonly callsRunning: number;
	readonly callsTaken: number;
	/** How long it has been ready, in milliseconds. */
	readonly readyMs: number;
	/** `undefined` before it is ready, and without heartbeat. */
	readonly heartbeat: HeartbeatStatistics | undefined;
	/** The machine that it runs on, if that is not this one. */
	readonly place: WorkerPlace | undefined;
	/** What its adapter reports about it, such as versions and capabilities; may be empty. */
	readonly facts: Readonly<Record<string, unknown>>;
}

export interface PoolStatistics {
	readonly workers: Readonly<Record<WorkerState, number>>;
	/** The minimum and maximum number of workers, as last set by `resize`. */
	readonly size: { readonly min: number; readonly max: number };
	/** `"paused"`: calls wait until `resume`. */
	readonly dispatch: "running" | "paused";
	readonly restarts: number;
	readonly calls: {
		/** Every call made while the pool was open, including those refused with `QUEUE_FULL`. */
		readonly accepted: number;
		readonly waiting: number;
		readonly running: number;
	} & Readonly<Record<CallOutcome, number>>;
	readonly sessions: number;
	/** How long calls waited for a worker. */
	readonly queueWait: DurationSummary;
	/** How long calls ran on a worker. */
	readonly run: DurationSummary;
	/** From acceptance to settlement. */
	readonly total: DurationSummary;
	readonly registry: RegistryStatistics;
	/** Of the whole run, which the program's pools share. */
	readonly audit: AuditStatistics;
}

export function viewOf(worker: Worker): WorkerView {
	return {
		workerId: worker.ref.workerId,
		incarnation: worker.ref.incarnation,
		pid: worker.pid,
		state: worker.state,
		callsRunning: worker.calls.attempts.length,
		callsTaken: worker.calls.taken,
		readyMs: worker.readyMs,
		heartbeat: worker.heartbeat?.statistics(),
		place: worker.connection?.place,
		facts: worker.connection?.facts ?? {},
	};
}

/** Counts what happens in one pool. */
export class StatisticsKeeper {
	readonly queueWait: DurationHistogram = new DurationHistogram();
	readonly run: DurationHistogram = new DurationHistogram();
	readonly total: DurationHistogram = new DurationHistogram();
	readonly outcomes: Record<CallOutcome, number> = {
		succeeded: 0,
		failed: 0,
		aborted: 0,
		timed_out: 0,
	};
	accepted = 0;

	view(now: {
		readonly size: PoolStatistics["size"];
		readonly dispatch: PoolStatistics["dispatch"];
		readonly waiting: number;
		readonly running: number;
		readonly sessions: number;
		readonly restarts: number;
		readonly workers: readonly Worker[];
		readonly registry: RegistryStatistics;
		readonly audit: AuditStatistics;
	}): PoolStatistics {
		const workers: Record<WorkerState, number> = {
			starting: 0,
			ready: 0,
			draining: 0,
			stopping: 0,
			exited: 0,
		};
		for (const worker of now.workers) workers[worker.state]++;
		return {
			workers,
			size: now.size,
			dispatch: now.dispatch,
			restarts: now.restarts,
			calls: {
				accepted: this.accepted,
				waiting: now.waiting,
				running: now.running,
				...this.outcomes,
			},
			sessions: now.sessions,
			queueWait: this.queueWait.summary(),
			run: this.run.summary(),
			total: this.total.summary(),
			registry: now.registry,
			audit: now.audit,
		};
	}
}
